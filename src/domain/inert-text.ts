/** A zero width space. In `@​name` a reader does not see it, and neither a tracker nor a bot recognises the name. It survives everywhere as plain text. */
const BREAK = '\u200b';

export interface InertOptions {
  /** The tracker shows Markdown, where a mention in code has no effect. Otherwise code is treated like other text. Default true. */
  readonly isMarkdown?: boolean;
  /** The issue of the run, as its identifier: `#12`, `ENG-12`. "Fixes #12" keeps its effect for this issue only. Default: none. */
  readonly ownIssue?: string | null;
}

/**
 * Makes a text of an agent inert in other systems: it cannot mention people, command bots or close other issues. Every mention, slash command and closing
 * keyword gets an invisible character behind its first letter; the rest stays as it is. Code that is clearly code keeps its mentions, which are inert
 * there already, but not commands, because bots read the source of a comment. Where Markdown parsers could disagree about what is code, everything counts as text.
 * Idempotent. Pure, and linear in the text.
 */
export function inertText(text: string, { isMarkdown = true, ownIssue = null }: InertOptions = {}): string {
  const parts = isMarkdown ? splitCode(text) : [{ text, isCode: false }];
  const unmentioned = parts.map((part) => (part.isCode ? part.text : withoutMentions(part.text))).join('');
  return withoutCommands(withoutClosing(unmentioned, ownIssue));
}

const URL_WITH_AT = /(https?:\/\/[^\s/<>"'`]{1,300}\/)([^\s<>"'`]{0,2000})/gi;
/** An `@` behind a letter or digit belongs to a mail address. `_` does not count: `_@name_` is a mention in italics. */
const AT = /(?<![A-Za-z0-9])@(?=[^\s\u200b.,;:!?)}\]"'=|/@])/g;
/** Shown as `@`, and only then looked at. */
const AT_ENTITY = /(?:&#0{0,40}64(?:;|(?![;\d]))|&#x0{0,40}40(?:;|(?![;\da-f]))|&commat;)(?!\u200b)/gi;
/** Jira: `[~accountid:…]`. */
const JIRA_MENTION = /\[(?=~[\w:.@-])/g;
/** Linear takes the address of a profile as a mention. */
const LINEAR_PROFILE = /(linear\.app\/[\w.-]{1,100}\/profiles\/)(?!\u200b)/gi;

function withoutMentions(text: string): string {
  return text
    .replace(URL_WITH_AT, (_, host: string, path: string) => host + path.replaceAll('@', '%40'))
    .replace(AT, `@${BREAK}`)
    .replace(AT_ENTITY, (entity) => entity + BREAK)
    .replace(JIRA_MENTION, `[${BREAK}`)
    .replace(LINEAR_PROFILE, `$1${BREAK}`);
}

/** Bots that act on their name wherever it stands in the source of a comment. */
const BOTS =
  /@(?=(?:dependabot|copilot|github-copilot|renovate|renovatebot|mergify|mergifyio|bors|bors-ng|homu|claude|codex|gemini-cli|gemini-code-assist|coderabbitai|cursor|cursoragent|devin-ai-integration|jules|sweep-ai|greptileai|gitlabduo|pytorchbot|pytorchmergebot|k8s-ci-robot|rustbot|triagebot)\b)/gi;
/** At the beginning of a line, also in a list or a quotation. `/usr/bin` and `/app.js` are paths. */
const LINE_COMMAND =
  /^([^\S\n]{0,200}(?:(?:[-*+>]|\d{1,9}[.)])[^\S\n]{1,20}|>){0,20})\/(?=[A-Za-z_?][\w-]{0,60}(?![\w/-]|\.\w))/gm;
/** Bots that look for their command anywhere. */
const COMMAND =
  /(?<=[\s("'`*_~>])\/(?=(?:ok-to-test|lgtm|approve|unapprove|merge|rebase|squash|retest|test|test-all|run|rerun|deploy|publish|release|assign|unassign|label|remove-label|cc|close|reopen|hold|unhold|cherry-pick|cherrypick|backport|override|skip|trigger|azp|gemini|oc|opencode|codex|claude|azurepipelines|packit|build|bot|duo|review|spend|estimate|move|clone|promote|delete|lock)(?![\w/-]|\.\w))/gi;
const PHRASE =
  /\b(?:bors[^\S\n]{1,5}(?=r[+=-]|d[+=]|p=|try|merge|delegate|cancel|retry|ping)|homu[^\S\n]{1,5}(?=r[+=-]|try|retry)|ok to test\b|(?:re)?test this please\b|add to whitelist\b|^recheck\b)/gim;

function withoutCommands(text: string): string {
  return text
    .replace(BOTS, `@${BREAK}`)
    .replace(LINE_COMMAND, `$1/${BREAK}`)
    .replace(COMMAND, `/${BREAK}`)
    .replace(PHRASE, broken);
}

const REFERENCE =
  '(?:(?:[\\w.-]{1,100}/){0,5}[\\w.-]{0,100}[#!]\\d{1,12}|[A-Z][A-Z0-9_]{1,30}-\\d{1,12}|https?://\\S{1,300}?/(?:issues?|work_items|pulls?|merge_requests|browse)/[\\w-]{1,40})';
/** Closing keywords of GitHub, GitLab, Linear and Redmine, with one or several references. */
const CLOSING = new RegExp(
  `\\b(?<keyword>clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?|complet(?:e[sd]?|ing))(?<between>:?\\s{0,5}(?:issues?\\s{1,5})?[*_~[(]{0,3})(?<references>${REFERENCE}(?:(?:\\s{0,5},?\\s{1,5}(?:and|or|&)\\s{1,5}|\\s{0,5},\\s{0,5}|\\s{1,5})${REFERENCE}){0,50})`,
  'gi',
);

/** Makes closing keywords inert, but for the own issue of the run. For commit messages and descriptions of pull requests. */
function withoutClosing(text: string, ownIssue: string | null): string {
  return text.replace(CLOSING, (match, ...others) => {
    const { references } = others.at(-1) as { readonly references: string };
    const isOwn = (references.match(new RegExp(REFERENCE, 'gi')) ?? []).every((each) => isSame(each, ownIssue));
    return isOwn ? match : broken(match);
  });
}

/** The issue `GH-12` of a forge is also `#12`. A reference with a repository may be to another's issue. */
function isSame(reference: string, ownIssue: string | null): boolean {
  if (ownIssue === null) return false;
  const [, number] = /^(?:GH-|GL-|#)?(\d{1,15})$/i.exec(ownIssue) ?? [];
  return reference.toLowerCase() === ownIssue.toLowerCase() || (number !== undefined && reference === `#${number}`);
}

function broken(match: string): string {
  return `${match.slice(0, 1)}${BREAK}${match.slice(1)}`;
}

interface Part {
  readonly text: string;
  readonly isCode: boolean;
}

/** HTML whose content is no Markdown until its end, front matter of GitLab, and line ends that only some parsers know. */
const DOUBTFUL = /<(?:pre|script|style|textarea|!|\?)|^(?:---|\+\+\+|;;;)|\r(?!\n)/i;

/** Splits a text into code and other text. A part is code only when every parser says so. */
function splitCode(text: string): Part[] {
  if (DOUBTFUL.test(text)) return [{ text, isCode: false }];
  const parts: Part[] = [];
  let block: string[] = [];
  const endBlock = () => {
    parts.push(...splitSpans(block.join('')));
    block = [];
  };
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (/```|~~~/.test(line)) {
      // A fence that is nested, indented or not closed may begin or end another one than it seems.
      const end = block.length === 0 ? endOfFence(lines, at) : null;
      if (end === null) return [{ text, isCode: false }];
      parts.push({ text: lines.slice(at, end + 1).join(''), isCode: true });
      at = end;
      // The next line belongs to a new block, which is no place for a fence unless a blank line follows.
      if (/```|~~~/.test(lines[at + 1] ?? '')) return [{ text, isCode: false }];
    } else if (line.trim() === '') {
      endBlock();
      parts.push({ text: line, isCode: false });
    } else {
      block.push(line);
    }
  }
  endBlock();
  return parts;
}

/** The line that closes a fence; null when it is no clear fence. */
function endOfFence(lines: readonly string[], start: number): number | null {
  const [, fence] = /^(`{3,}|~{3,})[^`\n]*$/.exec((lines[start] ?? '').trimEnd()) ?? [];
  if (fence === undefined) return null;
  const isEnd = (line: string) => {
    const [, found = ''] = /^ {0,3}(`{3,}|~{3,})[ \t\r\n]*$/.exec(line) ?? [];
    return found.startsWith(fence);
  };
  const end = lines.findIndex((line, at) => at > start && isEnd(line));
  return end === -1 ? null : end;
}

/** Code spans of a block. They are clear when each line has its own pairs of single backticks, and nothing that binds tighter. */
function splitSpans(block: string): Part[] {
  const isClear =
    !/[<|\\$]|``/.test(block) && block.split('\n').every((line) => (line.match(/`/g) ?? []).length % 2 === 0);
  if (!isClear) return [{ text: block, isCode: false }];
  return block.split(/(`[^`\n]+`)/).map((text) => ({ text, isCode: text.startsWith('`') }));
}
