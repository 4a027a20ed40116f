import { fieldsOf, textOf } from '../../domain/fields.js';
import { type AdfBudget, type AdfNode, nodeOf, plainText } from './adf-node.js';

/** Deeper than people nest lists, tables and panels; a list within a list counts three times. */
export const MAX_DEPTH = 40;

/** What stands within a line, as Markdown. */
export function inline(nodes: readonly unknown[], budget: AdfBudget, depth: number): string {
  let text = '';
  for (const each of nodes) {
    if (budget.isSpent) break;
    text += inlineNode(each, budget, depth);
  }
  return text;
}

export function inlineNode(value: unknown, budget: AdfBudget, depth: number): string {
  if (depth > MAX_DEPTH) return plainText(value, budget);
  if (!budget.takeNode()) return '';
  const node = nodeOf(value);
  if (node.type === 'hardBreak') return budget.takeText('\n');
  const own = node.text === null ? wordFor(node) : node.text;
  if (own !== null) return marked(budget.takeText(own), node.marks, budget);
  return inline(node.content, budget, depth + 1);
}

/** What a node without a text of its own stands for; `null`: nothing but its content. */
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

export function attachment(name: string | null): string {
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
  // Nobody writes more marks than there are.
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

/** Of what a link may be: other schemes run something where they are clicked on. */
function webAddress(href: unknown): string | null {
  const address = textOf(href);
  return address !== null && /^(?:https?:\/\/|mailto:)/i.test(address) ? address : null;
}

function percent(parenthesis: string): string {
  return parenthesis === '(' ? '%28' : '%29';
}

/** Between more backticks than the text has in a row. */
function inlineCode(text: string): string {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 0);
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${text}${fence}` : `${fence} ${text} ${fence}`;
}
