import { type Fields, fieldsOf, textOf } from '../../domain/json.js';

/**
 * Converts a description or comment in Atlassian Document Format to Markdown. Never throws: of unknown nodes it keeps the text,
 * and it cuts documents that are too long or too deeply nested. A plain text is returned as it is.
 */
export function adfToMarkdown(document: unknown): string {
  if (typeof document === 'string') return document;
  const budget = new AdfBudget();
  const text = blocks([document], budget, 0).trimEnd();
  return budget.isSpent ? `${text}\n\n… (cut)` : text;
}

type BlockWriter = (node: AdfNode, budget: AdfBudget, depth: number) => string;

const BLOCKS: ReadonlyMap<string, BlockWriter> = new Map<string, BlockWriter>([
  ...[
    'doc',
    'layoutSection',
    'layoutColumn',
    'bodiedExtension',
    'listItem',
    'tableRow',
    'tableCell',
    'tableHeader',
  ].map((type) => [type, children] as const),
  ['paragraph', ({ content }, budget, depth) => inline(content, budget, depth + 1)],
  ['heading', heading],
  ['bulletList', (node, budget, depth) => list(node, budget, depth, () => '- ')],
  ['decisionList', (node, budget, depth) => list(node, budget, depth, () => '- ')],
  ['orderedList', (node, budget, depth) => list(node, budget, depth, (_, n) => `${numberOf(node, n)}. `)],
  [
    'taskList',
    (node, budget, depth) => list(node, budget, depth, ({ attrs }) => (attrs.state === 'DONE' ? '- [x] ' : '- [ ] ')),
  ],
  ['taskItem', children],
  ['decisionItem', children],
  ['codeBlock', codeBlock],
  ['blockquote', (node, budget, depth) => quoted(budget, () => children(node, budget, depth))],
  ['panel', (node, budget, depth) => quoted(budget, () => panel(node, budget, depth))],
  ['expand', expand],
  ['nestedExpand', expand],
  ['rule', () => '---'],
  ['mediaSingle', media],
  ['mediaGroup', media],
  ['table', table],
]);

/** Blocks, separated by blank lines. Inline nodes between blocks become paragraphs. */
function blocks(nodes: readonly unknown[], budget: AdfBudget, depth: number): string {
  const parts: string[] = [];
  const add = (part: string) => {
    if (part.trim() === '') return;
    if (parts.length > 0) budget.takeText('\n\n');
    parts.push(part);
  };
  let line = '';
  for (const each of nodes) {
    if (budget.isSpent) break;
    const node = nodeOf(each);
    const write = BLOCKS.get(node.type) ?? (holdsBlocks(node) ? children : null);
    if (write === null) {
      line += inlineNode(each, budget, depth + 1);
      continue;
    }
    add(line);
    line = '';
    if (depth > MAX_DEPTH) add(plainText(each, budget));
    else if (budget.takeNode()) add(write(node, budget, depth));
  }
  add(line);
  return parts.join('\n\n');
}

function children({ content }: AdfNode, budget: AdfBudget, depth: number): string {
  return blocks(content, budget, depth + 1);
}

function holdsBlocks({ content }: AdfNode): boolean {
  return content.some((child) => BLOCKS.has(nodeOf(child).type));
}

function heading({ attrs, content }: AdfNode, budget: AdfBudget, depth: number): string {
  const level = Number.isInteger(attrs.level) ? Math.min(6, Math.max(1, attrs.level as number)) : 1;
  return `${'#'.repeat(level)} ${inline(content, budget, depth + 1).replace(/\s+/g, ' ')}`;
}

function list(
  { content }: AdfNode,
  budget: AdfBudget,
  depth: number,
  markerOf: (item: AdfNode, n: number) => string,
): string {
  const lines: string[] = [];
  let number = 0;
  for (const each of content) {
    if (budget.isSpent) break;
    const item = nodeOf(each);
    // Jira puts a nested task list beside its item, not inside it.
    const marker = item.type === 'taskList' ? '  ' : markerOf(item, number++);
    const others = ' '.repeat(marker.startsWith('- ') ? 2 : marker.length);
    if (lines.length > 0) budget.takeText('\n');
    const text = budget.within(others.length, () => blocks([each], budget, depth + 1));
    lines.push(indented(text, marker, others));
  }
  return lines.join('\n');
}

/** Markdown lists have numbers of at most nine digits. */
const MAX_NUMBER = 999_999_999;

function numberOf({ attrs }: AdfNode, n: number): number {
  const { order } = attrs;
  const first = Number.isSafeInteger(order) && (order as number) >= 0 ? (order as number) : 1;
  return Math.min(first + n, MAX_NUMBER);
}

/** The fence has more backticks than any run in the code. */
function codeBlock({ attrs, content }: AdfNode, budget: AdfBudget): string {
  const code = content.map((child) => plainText(child, budget)).join('');
  let fence = '```';
  while (code.includes(fence)) fence += '`'.repeat(fence.length);
  const language = budget.takeText((textOf(attrs.language) ?? '').replace(/[^\w+#.-]/g, ''));
  budget.takeText('\n\n');
  return `${fence}${language}\n${code}\n${fence}`;
}

function expand(node: AdfNode, budget: AdfBudget, depth: number): string {
  const title = textOf(node.attrs.title);
  if (title === null) return children(node, budget, depth);
  const label = budget.takeText(title.replace(/\s+/g, ' '));
  return `**${label}**${budget.takeText('\n\n')}${children(node, budget, depth)}`;
}

function panel(node: AdfNode, budget: AdfBudget, depth: number): string {
  const type = budget.takeText((textOf(node.attrs.panelType) ?? 'note').replace(/\s+/g, ' '));
  return `**${type}**${budget.takeText('\n')}${children(node, budget, depth)}`;
}

/** Attachments with their captions. */
function media({ content }: AdfNode, budget: AdfBudget, depth: number): string {
  const lines = content.map((child) => inlineNode(child, budget, depth + 1)).filter((text) => text !== '');
  budget.takeText('\n'.repeat(lines.length));
  return lines.length === 0 ? budget.takeText(attachment(null)) : lines.join('\n');
}

function table({ content }: AdfNode, budget: AdfBudget, depth: number): string {
  const rows: (readonly string[])[] = [];
  for (const row of content) {
    if (!budget.takeNode()) break;
    budget.takeText('\n');
    const cells: string[] = [];
    for (const cell of nodeOf(row).content) {
      if (!budget.take(' | '.length)) break;
      const text = blocks([cell], budget, depth + 1);
      // A nested table has already escaped its own bars.
      cells.push(text.replace(/\n+/g, ' ').replace(/(?<!\\)\|/g, '\\|'));
    }
    rows.push(cells);
  }
  const columns = rows.reduce((most, row) => Math.max(most, row.length), 0);
  if (columns === 0) return '';
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [line(head), line(Array.from({ length: columns }, () => '---')), ...body.map(line)].join('\n');
}

function quoted(budget: AdfBudget, write: () => string): string {
  return indented(budget.within(2, write), '> ', '> ');
}

function indented(text: string, first: string, others: string): string {
  return text
    .split('\n')
    .map((line, n) => `${n === 0 ? first : others}${line}`.trimEnd())
    .join('\n');
}

/** Hand-written documents stay below this depth, although a nested list counts three levels. */
const MAX_DEPTH = 40;

/** The nodes within a line, as Markdown. */
function inline(nodes: readonly unknown[], budget: AdfBudget, depth: number): string {
  let text = '';
  for (const each of nodes) {
    if (budget.isSpent) break;
    text += inlineNode(each, budget, depth);
  }
  return text;
}

function inlineNode(value: unknown, budget: AdfBudget, depth: number): string {
  if (depth > MAX_DEPTH) return plainText(value, budget);
  if (!budget.takeNode()) return '';
  const node = nodeOf(value);
  if (node.type === 'hardBreak') return budget.takeText('\n');
  const own = node.text === null ? wordFor(node) : node.text;
  if (own !== null) return marked(budget.takeText(own), node.marks, budget);
  return inline(node.content, budget, depth + 1);
}

/** The text that stands for a node without text; `null` when only its content counts. */
function wordFor({ type, attrs }: AdfNode): string | null {
  const text = textOf(attrs.text);
  switch (type) {
    case 'mention':
      return atSign(text ?? textOf(attrs.id) ?? 'somebody');
    case 'emoji':
      return text ?? textOf(attrs.shortName);
    case 'inlineCard':
    case 'blockCard':
    case 'embedCard':
      return textOf(attrs.url) ?? '[link]';
    case 'status':
      return text === null ? null : `[${text}]`;
    case 'date':
      return dayOf(attrs.timestamp);
    case 'media':
    case 'mediaInline':
      return attachment(textOf(attrs.alt));
    default:
      return text;
  }
}

function attachment(name: string | null): string {
  return name === null ? '[attachment]' : `[attachment: ${name.replace(/\s+/g, ' ')}]`;
}

function atSign(name: string): string {
  return name.startsWith('@') ? name : `@${name}`;
}

/** Milliseconds since 1970, as text. */
function dayOf(timestamp: unknown): string | null {
  const ms = typeof timestamp === 'string' || typeof timestamp === 'number' ? Number(timestamp) : Number.NaN;
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString().slice(0, 10) : null;
}

function marked(text: string, marks: readonly unknown[], budget: AdfBudget): string {
  if (marks.length === 0 || text.trim() === '') return text;
  // There are fewer kinds of marks than this.
  const all = new Map(marks.slice(0, 20).map((mark) => [textOf(fieldsOf(mark).type), fieldsOf(fieldsOf(mark).attrs)]));
  const start = text.length - text.trimStart().length;
  const end = text.trimEnd().length;
  let core = text.slice(start, end);
  const href = webAddress(all.get('link')?.href);
  if (href === core.trim()) return text;
  if (all.has('code')) core = inlineCode(core);
  if (all.has('strike')) core = `~~${core}~~`;
  if (all.has('em')) core = `*${core}*`;
  if (all.has('strong')) core = `**${core}**`;
  if (href !== null)
    core = `[${core}](${href.replace(/[\s()<>]/g, (character) => encodeURIComponent(character).replace(/[()]/g, percent))})`;
  return budget.take(core.length - (end - start)) ? `${text.slice(0, start)}${core}${text.slice(end)}` : text;
}

/** Links with other schemes may run code when they are opened. */
function webAddress(href: unknown): string | null {
  const address = textOf(href);
  return address !== null && /^(?:https?:\/\/|mailto:)/i.test(address) ? address : null;
}

function percent(parenthesis: string): string {
  return parenthesis === '(' ? '%28' : '%29';
}

/** The fence is longer than any run of backticks in the text. */
function inlineCode(text: string): string {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 0);
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${text}${fence}` : `${fence} ${text} ${fence}`;
}

/** A node of Atlassian Document Format, read from any value. */
interface AdfNode {
  readonly type: string;
  readonly text: string | null;
  readonly attrs: Fields;
  readonly marks: readonly unknown[];
  readonly content: readonly unknown[];
}

const NOTHING: readonly unknown[] = [];

function nodeOf(value: unknown): AdfNode {
  const { type, text, attrs, marks, content } = fieldsOf(value);
  return {
    type: textOf(type) ?? '',
    text: textOf(text),
    attrs: fieldsOf(attrs),
    marks: Array.isArray(marks) ? marks : NOTHING,
    content: Array.isArray(content) ? content : NOTHING,
  };
}

/** Hand-written documents have at most some thousand nodes; programs may send any number. */
const MAX_NODES = 20_000;
const MAX_CHARS = 100_000;

/**
 * How much one document may still add to the output. All output counts, also indentation: many lines in nested lists consist
 * mostly of it.
 */
class AdfBudget {
  #nodes = MAX_NODES;
  #chars = MAX_CHARS;
  /** The indentation of the current lines. */
  #indent = 0;
  #isSpent = false;

  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** Returns false when the budget is spent. */
  takeNode(): boolean {
    if (this.#isSpent || this.#nodes === 0) this.#isSpent = true;
    else this.#nodes--;
    return !this.#isSpent;
  }

  /** Returns false when the budget is spent. */
  take(chars: number): boolean {
    if (chars > this.#chars) this.#isSpent = true;
    if (!this.#isSpent) this.#chars -= chars;
    return !this.#isSpent;
  }

  /** The text, cut to the budget. */
  takeText(text: string): string {
    let end = 0;
    while (end < text.length && !this.#isSpent) {
      const newline = text.indexOf('\n', end);
      const next = newline === -1 ? text.length : newline + 1;
      const left = this.#chars;
      if (this.take(next - end + (newline === -1 ? 0 : this.#indent))) end = next;
      else end += Math.min(left, next - end);
    }
    // Do not end in half a surrogate pair.
    return end === text.length ? text : text.slice(0, end).replace(/[\ud800-\udbff]$/, '');
  }

  /** Each line that `write` adds is indented by `width`. */
  within(width: number, write: () => string): string {
    this.take(width);
    this.#indent += width;
    const text = write();
    this.#indent -= width;
    return text;
  }
}

/** The texts of a node and all its descendants. Iterative, because the nesting may have any depth. */
function plainText(start: unknown, budget: AdfBudget): string {
  const texts: string[] = [];
  const open: unknown[] = [start];
  while (open.length > 0 && budget.takeNode()) {
    const { text, attrs, content } = nodeOf(open.pop());
    const own = text ?? textOf(attrs.text);
    if (own !== null) texts.push(budget.takeText(own));
    for (let at = content.length - 1; at >= 0; at--) open.push(content[at]);
  }
  return texts.join(' ');
}
