interface AdfBlock {
  readonly type: 'paragraph' | 'heading' | 'codeBlock' | 'bulletList' | 'orderedList' | 'listItem' | 'rule';
  readonly attrs?: { readonly [name: string]: string | number };
  readonly content?: readonly (AdfBlock | AdfInline)[];
}

interface AdfDocument {
  readonly version: 1;
  readonly type: 'doc';
  readonly content: readonly AdfBlock[];
}

/**
 * Converts a comment in Markdown to Atlassian Document Format. Knows paragraphs, headings, lists, code, strong text and links;
 * everything else becomes plain text. Never throws, and always returns a valid document.
 */
export function markdownToAdf(markdown: string): AdfDocument {
  const lines = sendable(markdown).split('\n');
  const content: AdfBlock[] = [];
  for (let at = 0; at < lines.length; ) {
    const { block, next } = blockAt(lines, at);
    if (block !== null) content.push(block);
    at = next;
  }
  return { version: 1, type: 'doc', content: content.length === 0 ? [{ type: 'paragraph', content: [] }] : content };
}

/** Replaces control characters and lone surrogates, which Jira rejects. */
function sendable(markdown: string): string {
  return markdown
    .replace(/\r\n?/g, '\n')
    .replaceAll('\t', '    ')
    .replace(/[^\P{Cc}\n]|\p{Cs}|[\ufffe\uffff]/gu, '\ufffd');
}

interface ParsedBlock {
  /** `null` for a blank line. */
  readonly block: AdfBlock | null;
  readonly next: number;
}

function blockAt(lines: readonly string[], at: number): ParsedBlock {
  const line = lines[at] ?? '';
  if (line.trim() === '') return { block: null, next: at + 1 };
  if (fenceIn(line) !== null) return codeAt(lines, at);
  const heading = HEADING.exec(line);
  if (heading) {
    const level = heading[1]?.length ?? 1;
    return { block: { type: 'heading', attrs: { level }, content: inlineToAdf(heading[2] ?? '') }, next: at + 1 };
  }
  if (RULE.test(line)) return { block: { type: 'rule' }, next: at + 1 };
  if (itemIn(line) !== null) return listsAt(lines, at);
  let next = at + 1;
  while (next < lines.length && !startsBlock(lines[next] ?? '')) next++;
  return { block: { type: 'paragraph', content: inlineToAdf(lines.slice(at, next).join('\n')) }, next };
}

const HEADING = /^ {0,3}(#{1,6}) +(\S.*)$/;
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,}) *$/;

function startsBlock(line: string): boolean {
  return line.trim() === '' || fenceIn(line) !== null || HEADING.test(line) || RULE.test(line) || itemIn(line) !== null;
}

function fenceIn(line: string): { readonly fence: string; readonly indent: number; readonly language: string } | null {
  const [whole = '', blanks = '', fence = ''] = /^( *)(`{3,}|~{3,})/.exec(line) ?? [];
  const rest = line.slice(whole.length);
  if (fence === '' || rest.includes('`')) return null;
  return { fence, indent: blanks.length, language: /^ *([\w+#.-]*)/.exec(rest)?.[1] ?? '' };
}

/** The code ends at a line with only the fence, or at the end of the text. */
function codeAt(lines: readonly string[], at: number): ParsedBlock {
  const { fence, indent, language } = fenceIn(lines[at] ?? '') ?? { fence: '```', indent: 0, language: '' };
  let end = at + 1;
  while (end < lines.length && !isClosing(lines[end] ?? '', fence)) end++;
  const code = lines
    .slice(at + 1, end)
    .map((line) => line.slice(Math.min(indent, line.length - line.trimStart().length)));
  const text = code.join('\n');
  const attrs = language === '' ? {} : { attrs: { language } };
  return {
    block: { type: 'codeBlock', ...attrs, content: text === '' ? [] : [{ type: 'text', text }] },
    next: end + 1,
  };
}

function isClosing(line: string, fence: string): boolean {
  const bare = line.trim();
  return bare.length >= fence.length && bare === fence.charAt(0).repeat(bare.length);
}

interface Item {
  readonly indent: number;
  /** `null` for a bullet. */
  readonly number: number | null;
  readonly lines: string[];
}

/** Jira may reject deeper lists. */
const MAX_INDENT = 10;

function itemIn(line: string): Item | null {
  const [, blanks = '', marker, text = ''] = /^( *)([-*+]|\d{1,9}[.)]) +(\S.*)$/.exec(line) ?? [];
  if (marker === undefined) return null;
  const number = /^\d/.test(marker) ? Number.parseInt(marker, 10) : null;
  return { indent: Math.min(blanks.length, MAX_INDENT), number, lines: [text] };
}

/** Consecutive items with their continuation lines, as one list with nested lists. */
function listsAt(lines: readonly string[], from: number): ParsedBlock {
  const items: Item[] = [];
  let at = from;
  for (; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const item = itemIn(line);
    const [first] = items;
    if (item !== null && (first === undefined || item.indent > first.indent + 1 || isSameList(first, item)))
      items.push(item);
    else if (item === null && /^ {2}/.test(line) && !startsBlock(line)) items.at(-1)?.lines.push(line.trim());
    else break;
  }
  return { block: listOfItems(items), next: at };
}

function isSameList(first: Item, item: Item): boolean {
  return (first.number === null) === (item.number === null);
}

/** Items indented further than the first one are nested in the item before them. */
function listOfItems(items: readonly Item[]): AdfBlock {
  const [first] = items;
  const limit = (first?.indent ?? 0) + 1;
  const groups: { readonly item: Item; readonly below: Item[] }[] = [];
  for (const item of items) {
    const last = groups.at(-1);
    if (last !== undefined && item.indent > limit) last.below.push(item);
    else groups.push({ item, below: [] });
  }
  const content = groups.map(({ item, below }) => listItem(item, below));
  const order = first?.number ?? null;
  return order === null ? { type: 'bulletList', content } : { type: 'orderedList', attrs: { order }, content };
}

function listItem(item: Item, below: readonly Item[]): AdfBlock {
  const text: AdfBlock = { type: 'paragraph', content: inlineToAdf(item.lines.join('\n')) };
  return { type: 'listItem', content: below.length === 0 ? [text] : [text, listOfItems(below)] };
}

/** A text node or a line break. */
interface AdfInline {
  readonly type: 'text' | 'hardBreak';
  readonly text?: string;
  readonly marks?: readonly AdfMark[];
}

interface AdfMark {
  readonly type: 'strong' | 'code' | 'link';
  readonly attrs?: { readonly href: string };
}

/** Parses code, strong text and links; keeps everything else, including line breaks. */
function inlineToAdf(markdown: string, marks: readonly AdfMark[] = []): readonly AdfInline[] {
  return markdown.split('\n').flatMap((line, n) => [...(n === 0 ? [] : [BREAK]), ...lineToAdf(line, marks)]);
}

const BREAK: AdfInline = { type: 'hardBreak' };

function lineToAdf(line: string, marks: readonly AdfMark[]): readonly AdfInline[] {
  const parts: AdfInline[] = [];
  let plain = '';
  const flush = () => {
    parts.push(...textNode(plain, marks));
    plain = '';
  };
  for (let at = 0; at < line.length; ) {
    const found = spanAt(line, at, marks);
    if (found === null || found.nodes === null) {
      const end = found?.end ?? at + 1;
      plain += line.slice(at, end);
      at = end;
      continue;
    }
    flush();
    for (const node of found.nodes) parts.push(node);
    at = found.end;
  }
  flush();
  return parts;
}

interface Span {
  /** `null` when the text up to `end` is plain. */
  readonly nodes: readonly AdfInline[] | null;
  readonly end: number;
}

function spanAt(line: string, at: number, marks: readonly AdfMark[]): Span | null {
  const has = (type: AdfMark['type']) => marks.some((mark) => mark.type === type);
  const character = line.charAt(at);
  if (character === '`') return inlineCodeAt(line, at, marks);
  if (character === '*' && !has('strong')) return strongAt(line, at, marks);
  if (character === '[' && !has('link')) return linkAt(line, at, marks);
  if (character === 'h' && !has('link')) return addressAt(line, at, marks);
  return null;
}

/** Ends at the next run of backticks of the same length. Beside `code`, Jira accepts only the mark `link`. */
function inlineCodeAt(line: string, at: number, marks: readonly AdfMark[]): Span | null {
  // This backtick continues a longer run, which found no end.
  if (line.charAt(at - 1) === '`') return null;
  const fence = /^`+/.exec(line.slice(at, at + 20))?.[0] ?? '`';
  let end = line.indexOf(fence, at + fence.length);
  while (end !== -1 && (line.charAt(end + fence.length) === '`' || line.charAt(end - 1) === '`')) {
    while (line.charAt(end) === '`') end++;
    end = line.indexOf(fence, end);
  }
  if (end === -1) return null;
  const inner = line.slice(at + fence.length, end);
  // The spaces beside the fence only separate it from backticks in the code.
  const isPadded = inner.includes('`') && inner.startsWith(' ') && inner.endsWith(' ');
  const code = isPadded ? inner.slice(1, -1) : inner;
  const links = marks.filter(({ type }) => type === 'link');
  return { nodes: textNode(code, [...links, { type: 'code' }]), end: end + fence.length };
}

function strongAt(line: string, at: number, marks: readonly AdfMark[]): Span | null {
  if (!line.startsWith('**', at)) return null;
  const end = line.indexOf('**', at + 2);
  const inner = end === -1 ? '' : line.slice(at + 2, end);
  if (inner === '' || inner.trim() !== inner) return null;
  return { nodes: lineToAdf(inner, [...marks, { type: 'strong' }]), end: end + 2 };
}

/** The text may hold no brackets: a line of only brackets is matched in linear time. */
const LINK = /\[([^[\]]+)\]\(((?:[^\s()<>]|\([^\s()<>]*\))+)\)/y;

function linkAt(line: string, at: number, marks: readonly AdfMark[]): Span | null {
  LINK.lastIndex = at;
  const [whole = '', inner = '', written = ''] = LINK.exec(line) ?? [];
  const href = hrefOf(written);
  if (href === null) return null;
  return { nodes: lineToAdf(inner, [...marks, { type: 'link', attrs: { href } }]), end: at + whole.length };
}

/**
 * A bare address becomes a link. A text that only looks like an address is skipped as a whole: otherwise each `http://` in it
 * would be parsed again.
 */
function addressAt(line: string, at: number, marks: readonly AdfMark[]): Span | null {
  if (/\w/.test(line.charAt(at - 1)) || !/^https?:\/\//.test(line.slice(at, at + 8))) return null;
  const whole = /^[^\s<>"'`*|\\^{}[\]()]+/.exec(line.slice(at, at + 2_000))?.[0] ?? '';
  const written = withoutPunctuation(whole);
  const href = hrefOf(written);
  if (href === null) return { nodes: null, end: at + whole.length };
  return { nodes: textNode(written, [...marks, { type: 'link', attrs: { href } }]), end: at + written.length };
}

/** Punctuation at the end belongs to the sentence. */
function withoutPunctuation(text: string): string {
  let end = text.length;
  while (end > 0 && '.,;:!?'.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

function hrefOf(written: string): string | null {
  const isGood = /^(?:https?:\/\/|mailto:)[^\s<>"]+$/i.test(written) && URL.canParse(written);
  return isGood ? written : null;
}

/** Jira rejects empty text nodes. */
function textNode(text: string, marks: readonly AdfMark[]): readonly AdfInline[] {
  if (text === '') return [];
  return [marks.length === 0 ? { type: 'text', text } : { type: 'text', text, marks }];
}
