import { type AdfInline, inlineToAdf } from './markdown-inline.js';

export interface AdfBlock {
  readonly type: 'paragraph' | 'heading' | 'codeBlock' | 'bulletList' | 'orderedList' | 'listItem' | 'rule';
  readonly attrs?: { readonly [name: string]: string | number };
  readonly content?: readonly (AdfBlock | AdfInline)[];
}

export interface AdfDocument {
  readonly version: 1;
  readonly type: 'doc';
  readonly content: readonly AdfBlock[];
}

/**
 * A comment of ours for Jira: paragraphs, headings, lists, code, strong text and links; anything else goes as plain text, line by line. Never throws,
 * and what comes out is valid whatever went in.
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

/** Control characters and halves of characters, which no text of Jira can hold. */
function sendable(markdown: string): string {
  return markdown
    .replace(/\r\n?/g, '\n')
    .replaceAll('\t', '    ')
    .replace(/[^\P{Cc}\n]|\p{Cs}|[\ufffe\uffff]/gu, '\ufffd');
}

interface Found {
  /** `null`: there is nothing but a blank line. */
  readonly block: AdfBlock | null;
  readonly next: number;
}

function blockAt(lines: readonly string[], at: number): Found {
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

/** Up to a line with nothing but the fence, or to the end. */
function codeAt(lines: readonly string[], at: number): Found {
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
  /** `null`: a bullet. */
  readonly number: number | null;
  readonly lines: string[];
}

/** Deeper lists nobody reads, and Jira may refuse them. */
const MAX_INDENT = 10;

function itemIn(line: string): Item | null {
  const [, blanks = '', marker, text = ''] = /^( *)([-*+]|\d{1,9}[.)]) +(\S.*)$/.exec(line) ?? [];
  if (marker === undefined) return null;
  const number = /^\d/.test(marker) ? Number.parseInt(marker, 10) : null;
  return { indent: Math.min(blanks.length, MAX_INDENT), number, lines: [text] };
}

/** Items that follow each other, with the lines that belong to them, as one list with lists in it. */
function listsAt(lines: readonly string[], from: number): Found {
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

/** The first item begins the list; what is indented further than it belongs to the item before. */
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
