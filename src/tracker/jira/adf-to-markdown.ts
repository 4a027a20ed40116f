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
  ['orderedList', (node, budget, depth) => list(node, budget, depth, (_, n) => `${firstNumber(node) + n}. `)],
  [
    'taskList',
    (node, budget, depth) => list(node, budget, depth, ({ attrs }) => (attrs.state === 'DONE' ? '- [x] ' : '- [ ] ')),
  ],
  ['taskItem', children],
  ['decisionItem', children],
  ['codeBlock', codeBlock],
  ['blockquote', (node, budget, depth) => prefixed(children(node, budget, depth), '> ')],
  [
    'panel',
    (node, budget, depth) =>
      prefixed(`**${textOf(node.attrs.panelType) ?? 'note'}**\n${children(node, budget, depth)}`, '> '),
  ],
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
  let line = '';
  for (const each of nodes) {
    if (budget.isSpent) break;
    const node = nodeOf(each);
    const write = BLOCKS.get(node.type) ?? (holdsBlocks(node) ? children : null);
    if (write === null) {
      line += inlineNode(each, budget, depth + 1);
      continue;
    }
    parts.push(line);
    line = '';
    if (depth > MAX_DEPTH) parts.push(plainText(each, budget));
    else if (budget.takeNode()) parts.push(write(node, budget, depth));
  }
  return [...parts, line].filter((part) => part.trim() !== '').join('\n\n');
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
    const text = blocks([each], budget, depth + 1);
    // Jira nests lists of tasks beside their items, not within them.
    if (item.type === 'taskList') lines.push(indented(text, '  ', '  '));
    else {
      const marker = markerOf(item, number++);
      lines.push(indented(text, marker, ' '.repeat(marker.startsWith('- ') ? 2 : marker.length)));
    }
  }
  return lines.join('\n');
}

function firstNumber({ attrs }: AdfNode): number {
  const { order } = attrs;
  return Number.isSafeInteger(order) && (order as number) >= 0 ? (order as number) : 1;
}

/** Between more backticks than any line of the code begins with. */
function codeBlock({ attrs, content }: AdfNode, budget: AdfBudget): string {
  const code = content.map((child) => plainText(child, budget)).join('');
  let fence = '```';
  while (code.includes(fence)) fence += '`'.repeat(fence.length);
  const language = (textOf(attrs.language) ?? '').replace(/[^\w+#.-]/g, '');
  return `${fence}${language}\n${code}\n${fence}`;
}

function expand(node: AdfNode, budget: AdfBudget, depth: number): string {
  const title = textOf(node.attrs.title);
  const content = children(node, budget, depth);
  return title === null ? content : `**${title.replace(/\s+/g, ' ')}**\n\n${content}`;
}

/** A picture, with what is written below it. */
function media({ content }: AdfNode, budget: AdfBudget, depth: number): string {
  const told = content.map((child) => inlineNode(child, budget, depth + 1)).filter((text) => text !== '');
  return told.length === 0 ? attachment(null) : told.join('\n');
}

function table({ content }: AdfNode, budget: AdfBudget, depth: number): string {
  const rows: (readonly string[])[] = [];
  for (const row of content) {
    if (!budget.takeNode()) break;
    const cells: string[] = [];
    for (const cell of nodeOf(row).content) {
      if (budget.isSpent) break;
      const text = blocks([cell], budget, depth + 1);
      cells.push(text.replace(/\n+/g, ' ').replaceAll('|', '\\|'));
    }
    rows.push(cells);
  }
  const columns = rows.reduce((most, row) => Math.max(most, row.length), 0);
  if (columns === 0) return '';
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [line(head), line(Array.from({ length: columns }, () => '---')), ...body.map(line)].join('\n');
}

function prefixed(text: string, prefix: string): string {
  return indented(text, prefix, prefix);
}

function indented(text: string, first: string, others: string): string {
  return text
    .split('\n')
    .map((line, n) => `${n === 0 ? first : others}${line}`.trimEnd())
    .join('\n');
}
