import { textOf } from '../../domain/fields.js';
import { attachment, inline, inlineNode, MAX_DEPTH } from './adf-inline.js';
import { AdfBudget, type AdfNode, nodeOf, plainText } from './adf-node.js';

/**
 * A description or comment as Jira stores it, as Markdown. Never throws: whatever is not known is told by its text, and what is too long or nested
 * too deeply is cut. A plain text stays as it is.
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

/** Blocks one after the other; what stands between them and is no block becomes a paragraph. */
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
    // Jira nests lists of tasks beside their items, not within them.
    const marker = item.type === 'taskList' ? '  ' : markerOf(item, number++);
    const others = ' '.repeat(marker.startsWith('- ') ? 2 : marker.length);
    if (lines.length > 0) budget.takeText('\n');
    const text = budget.within(others.length, () => blocks([each], budget, depth + 1));
    lines.push(indented(text, marker, others));
  }
  return lines.join('\n');
}

/** Markdown knows numbers of nine digits. */
const MAX_NUMBER = 999_999_999;

function numberOf({ attrs }: AdfNode, n: number): number {
  const { order } = attrs;
  const first = Number.isSafeInteger(order) && (order as number) >= 0 ? (order as number) : 1;
  return Math.min(first + n, MAX_NUMBER);
}

/** Between more backticks than any line of the code begins with. */
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
  const told = budget.takeText(title.replace(/\s+/g, ' '));
  return `**${told}**${budget.takeText('\n\n')}${children(node, budget, depth)}`;
}

function panel(node: AdfNode, budget: AdfBudget, depth: number): string {
  const type = budget.takeText((textOf(node.attrs.panelType) ?? 'note').replace(/\s+/g, ' '));
  return `**${type}**${budget.takeText('\n')}${children(node, budget, depth)}`;
}

/** A picture, with what is written below it. */
function media({ content }: AdfNode, budget: AdfBudget, depth: number): string {
  const told = content.map((child) => inlineNode(child, budget, depth + 1)).filter((text) => text !== '');
  budget.takeText('\n'.repeat(told.length));
  return told.length === 0 ? budget.takeText(attachment(null)) : told.join('\n');
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
      // A table within this one has escaped its own: to do it again at each level would add up.
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
