import { inertText } from '../domain/inert-text.js';
import { fieldsOf, isMap } from '../domain/json.js';
import type { HostTool } from '../domain/ports.js';

/** Their comments are Markdown, or are made from it. Redmine may be set to Textile, where a backtick is no code. */
const MARKDOWN_KINDS = ['github', 'gitlab', 'linear', 'jira', 'local'];
/** The members of calls that people read: of REST bodies, of GraphQL variables, of Atlassian documents. Others are names and ids. */
const TEXT_KEY =
  /^(?:body|title|description|notes?|comments?|text|summary|subject|content|value|(?:\w+_)?message|commit_title)$/i;

/** A tool whose texts cannot mention people or command bots, for `tracker.mentions: false`. */
export function inertTool(tool: HostTool, kind: string): HostTool {
  return {
    ...tool,
    async call(input, context) {
      const { identifier } = context.issue;
      const make = (text: string) =>
        inertText(text, { isMarkdown: MARKDOWN_KINDS.includes(kind), ownIssue: identifier });
      const document = typeof input === 'string' ? input : fieldsOf(input).query;
      if (typeof document === 'string' && hasLiveText(document)) return REFUSED;
      return tool.call(inertInput(input, make), context);
    },
  };
}

const REFUSED = {
  success: false,
  text: JSON.stringify({
    error: {
      code: 'refused',
      message:
        'The document contains a mention, a command for a bot or a closing keyword. Write texts as variables: there they are made harmless (tracker.mentions is off).',
    },
  }),
};

/** In a mutation of GraphQL, texts can also stand in the document itself, where they cannot be rewritten safely. */
function hasLiveText(document: string): boolean {
  if (!/\bmutation\b/.test(document)) return false;
  const plain = document
    .replace(/\\u\{?([0-9a-fA-F]{1,6})\}?/g, (written, hex: string) => characterOf(Number.parseInt(hex, 16)) ?? written)
    .replaceAll('\\n', '\n')
    .replaceAll('\\/', '/')
    .replace(/@(?=(?:include|skip)\s{0,5}\()/g, '');
  return inertText(plain, { isMarkdown: false }) !== plain;
}

function characterOf(code: number): string | null {
  return code <= 0x10ffff ? String.fromCodePoint(code) : null;
}

function inertInput(value: unknown, make: (text: string) => string, isText = false): unknown {
  if (typeof value === 'string') return isText ? make(value) : value;
  if (Array.isArray(value)) return value.map((each) => inertInput(each, make, isText));
  if (!isMap(value)) return value;
  if (value.type === 'mention') return { type: 'text', text: make(mentionText(fieldsOf(value.attrs).text)) };
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, inertInput(member, make, TEXT_KEY.test(key))]),
  );
}

/** A mention in an Atlassian document names an account by its id; only its text is kept. */
function mentionText(text: unknown): string {
  return typeof text === 'string' && text !== '' ? `@${text.replace(/^@/, '')}` : '@someone';
}
