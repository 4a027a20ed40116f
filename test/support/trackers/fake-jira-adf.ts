import { type Fields, fieldsOf, listOf } from '../../../src/domain/json.js';

const INLINE = ['text', 'hardBreak', 'mention', 'emoji', 'inlineCard', 'date', 'status'];
const TOP = ['paragraph', 'heading', 'bulletList', 'orderedList', 'codeBlock', 'blockquote', 'panel', 'rule', 'table'];
/** The allowed children of each node type that we write. */
const CONTENT: ReadonlyMap<string, readonly string[]> = new Map([
  ['doc', TOP],
  ['paragraph', INLINE],
  ['heading', INLINE],
  ['codeBlock', ['text']],
  ['bulletList', ['listItem']],
  ['orderedList', ['listItem']],
  ['listItem', ['paragraph', 'bulletList', 'orderedList', 'codeBlock']],
]);
const MARKS = ['strong', 'em', 'strike', 'code', 'link', 'underline', 'textColor', 'subsup'];

/** Validates a document as strictly as Atlassian's schema. Returns the first error, or `null`. */
export function wrongInAdf(document: unknown): string | null {
  const { type, version } = fieldsOf(document);
  if (type !== 'doc' || version !== 1) return 'no document of version 1';
  const open: Fields[] = [fieldsOf(document)];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const wrong = wrongIn(node);
    if (wrong !== null) return wrong;
    open.push(...listOf(node.content).map(fieldsOf));
  }
  return null;
}

function wrongIn({ type, content, attrs, text, marks }: Fields): string | null {
  const name = String(type);
  const children = listOf(content).map((child) => String(fieldsOf(child).type));
  const isLeaf = ['text', 'hardBreak', 'rule'].includes(name);
  if (isLeaf ? content !== undefined : !CONTENT.has(name) || !Array.isArray(content)) return `${name} has odd content`;
  const stranger = children.find((child) => !CONTENT.get(name)?.includes(child));
  if (stranger !== undefined) return `${name} holds ${stranger}`;
  if (/List|listItem|doc/.test(name) && children.length === 0) return `${name} is empty`;
  if (name === 'listItem' && !['paragraph', 'codeBlock'].includes(children[0] ?? ''))
    return 'an item begins with no text';
  if (name === 'text') return wrongInText(text, marks);
  const { level, order } = fieldsOf(attrs);
  if (name === 'heading' && ![1, 2, 3, 4, 5, 6].includes(level as number)) return 'a heading has no level';
  if (name === 'orderedList' && order !== undefined && !(Number.isInteger(order) && (order as number) >= 0))
    return 'a list begins with no number';
  const plain = listOf(content).some((child) => fieldsOf(child).marks !== undefined);
  return name === 'codeBlock' && plain ? 'code has marks' : null;
}

function wrongInText(text: unknown, marks: unknown): string | null {
  if (typeof text !== 'string' || text === '') return 'a text is empty';
  if (/[^\P{Cc}\n]|\p{Cs}/u.test(text)) return 'a text holds what is no character';
  const types = listOf(marks).map((mark) => String(fieldsOf(mark).type));
  if (types.some((type) => !MARKS.includes(type)) || new Set(types).size < types.length) return 'odd marks';
  if (types.includes('code') && types.some((type) => type !== 'code' && type !== 'link')) return 'code beside others';
  const links = listOf(marks)
    .map(fieldsOf)
    .filter(({ type }) => type === 'link');
  const isGood = links.every(({ attrs }) => /^(?:https?|mailto):/i.test(String(fieldsOf(attrs).href)));
  return isGood ? null : 'a link leads to no address';
}

/** The texts of a document, a line per block. */
export function textIn(document: unknown): string {
  const { type, text, content } = fieldsOf(document);
  if (typeof text === 'string') return text;
  if (type === 'hardBreak') return '\n';
  return listOf(content)
    .map(textIn)
    .join(type === 'doc' ? '\n' : '');
}

/** A text in Jira's format: one paragraph per line. */
export function adfOf(text: string) {
  const content = text.split('\n').map((line) => ({
    type: 'paragraph',
    content: line === '' ? [] : [{ type: 'text', text: line }],
  }));
  return { version: 1, type: 'doc', content };
}
