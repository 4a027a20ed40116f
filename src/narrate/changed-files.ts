import { type Fields, fieldsOf, listOf } from '../domain/fields.js';
import { counted, line } from '../text/phrases.js';

/** `edited 3 files, +42 −7`. Numbers are left out where the diffs were cut on their way here. */
export function changedFiles(item: Fields, workspace: unknown): string {
  const changes = listOf(item.changes);
  const files = changes.map(fieldsOf).filter((change) => typeof change.path === 'string');
  const total = files.length + leftOut(changes.at(-1));
  const [only] = files;
  const what = total === 1 && only ? fileName(only.path, workspace) : counted(total, 'file');
  const verb = total > 0 && files.every((change) => kindOf(change) === 'add') ? 'added' : 'edited';
  if (total !== files.length || files.some(isCut)) return `${verb} ${what}`;
  const plus = sum(files.map((change) => linesWith(change, '+')));
  const minus = sum(files.map((change) => linesWith(change, '-')));
  return `${verb} ${what}${plus + minus === 0 ? '' : `, +${plus} −${minus}`}`;
}

const MAX_NAME = 80;

/** From the workspace on, if it is known. The end of a long path says more than its beginning. */
function fileName(path: unknown, workspace: unknown): string {
  const full = String(path);
  const root = typeof workspace === 'string' && workspace !== '' ? `${workspace.replace(/\/+$/, '')}/` : null;
  const parts = (root !== null && full.startsWith(root) ? full.slice(root.length) : full).split('/');
  const short = parts.slice(-2).join('/');
  return `\`${line(short, MAX_NAME) || '?'}\``;
}

/** Of a new or deleted file codex sends the text itself, of any other a unified diff. */
function linesWith(change: Fields, sign: '+' | '-'): number {
  const diff = typeof change.diff === 'string' ? change.diff : '';
  const kind = kindOf(change);
  if (kind === 'add') return sign === '+' ? lineCount(diff) : 0;
  if (kind === 'delete') return sign === '-' ? lineCount(diff) : 0;
  const lines = diff.split('\n');
  const hunks = lines.slice(
    Math.max(
      0,
      lines.findIndex((text) => text.startsWith('@@')),
    ),
  );
  return hunks.filter((text) => text.startsWith(sign)).length;
}

function kindOf(change: Fields): unknown {
  return fieldsOf(change.kind).type;
}

function lineCount(text: string): number {
  if (text === '') return 0;
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

/** How the client marks what it cut: the end of a long text, the last entry of a long list. */
function isCut(change: Fields): boolean {
  return typeof change.diff !== 'string' || /… \(\d+ more characters\)$/.test(change.diff);
}

function leftOut(last: unknown): number {
  const [, count] = typeof last === 'string' ? (/^… \((\d{1,9}) more\)$/.exec(last) ?? []) : [];
  return Number(count ?? 0);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
