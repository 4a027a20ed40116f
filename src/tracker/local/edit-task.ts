import { isDeepStrictEqual } from 'node:util';
import { isScalar, type Scalar } from 'yaml';
import { type FrontMatter, parseFrontMatter, parseTask, type Task } from './parse-task.js';
import {
  findSections,
  formatBacklogDate,
  harmlessComment,
  newCommentsSection,
  nextComment,
  type Section,
  type SectionKind,
  UnreadableTaskError,
} from './sections.js';

export interface TaskEdit {
  readonly status?: string;
  readonly comment?: string;
}

/** A text that will not be changed. The message is a sentence. */
export class EditRefused extends Error {}

/**
 * The text of a task with another status, one more comment, or both, and the date of the change. All other bytes stay. The result
 * is parsed again, and rejected when it differs in anything else. Throws `UnreadableTaskError` and `EditRefused`.
 */
export function editTask(text: string, edit: TaskEdit, wallMs: number): string {
  const front = parseFrontMatter(text);
  const comment = edit.comment === undefined ? undefined : harmlessComment(edit.comment);
  if (comment === '') throw new EditRefused('The comment has no text.');
  const splices = [
    ...(edit.status === undefined ? [] : [statusSplice(text, front, edit.status)]),
    updatedDateSplice(text, front, wallMs),
    ...(comment === undefined ? [] : [commentSplice(text, findSections(text, front.bodyStart), comment, wallMs)]),
  ];
  const edited = apply(text, splices);
  requireOnlyEdit(parseTask(text), edited, { ...edit, ...(comment === undefined ? {} : { comment }) });
  return edited;
}

interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Uses the line ends of the file. */
function apply(text: string, splices: readonly Splice[]): string {
  const lineEnd = /\r?\n/.exec(text)?.[0] ?? '\n';
  let edited = text;
  for (const splice of [...splices].sort((a, b) => b.start - a.start)) {
    edited = edited.slice(0, splice.start) + splice.text.replaceAll('\n', lineEnd) + edited.slice(splice.end);
  }
  return edited;
}

function statusSplice(text: string, front: FrontMatter, status: string): Splice {
  return valueSplice(text, front, 'status', (old) => quoted(status, old));
}

/** Backlog.md sets it with every change, after `created_date`. */
function updatedDateSplice(text: string, front: FrontMatter, wallMs: number): Splice {
  const date = formatBacklogDate(wallMs);
  if (front.pair('updated_date')) {
    return valueSplice(text, front, 'updated_date', (old) =>
      old?.type === 'QUOTE_DOUBLE' ? `"${date}"` : `'${date}'`,
    );
  }
  const before = front.pair('created_date') ?? front.pair('status');
  const [, end = 0] = rangeOf(before?.value) ?? rangeOf(before?.key) ?? [];
  const valueEnd = front.start + end;
  if (front.isFlow) return { start: valueEnd, end: valueEnd, text: `, updated_date: '${date}'` };
  // A block scalar ends after its last line.
  const lineEnd = text.indexOf('\n', text[valueEnd - 1] === '\n' ? valueEnd - 1 : valueEnd) + 1;
  const keyStart = front.start + (rangeOf(before?.key)?.[0] ?? 0);
  const indent = text.slice(text.lastIndexOf('\n', keyStart - 1) + 1, keyStart);
  return { start: lineEnd, end: lineEnd, text: `${/^ *$/.test(indent) ? indent : ''}updated_date: '${date}'\n` };
}

function valueSplice(text: string, front: FrontMatter, key: string, write: (old: Scalar | null) => string): Splice {
  const pair = front.pair(key);
  const range = rangeOf(pair?.value);
  const old = isScalar(pair?.value) ? pair.value : null;
  if (!range || range[0] === range[1]) {
    const colon = text.indexOf(':', front.start + (rangeOf(pair?.key)?.[1] ?? 0)) + 1;
    return { start: colon, end: colon, text: ` ${write(null)}` };
  }
  const [start, end] = [front.start + range[0], front.start + range[1]];
  return { start, end, text: `${write(old)}${text[end - 1] === '\n' ? '\n' : ''}` };
}

function rangeOf(node: unknown): readonly [number, number, number] | null {
  return (node as Scalar | null | undefined)?.range ?? null;
}

/** With the quotes of the old value. Without quotes only for a value that every YAML parser reads as text. */
function quoted(value: string, old: Scalar | null): string {
  if (old?.type === 'QUOTE_DOUBLE' || /[^\P{C}]|\n/u.test(value)) return JSON.stringify(value);
  const isPlain = /^\p{L}[\p{L}\p{N} _./-]*$/u.test(value) && !/^(?:true|false|yes|no|on|off|null|y|n)$/i.test(value);
  return isPlain && old?.type !== 'QUOTE_SINGLE' ? value : `'${value.replaceAll("'", "''")}'`;
}

function commentSplice(text: string, sections: readonly Section[], comment: string, wallMs: number): Splice {
  const section = sections.find(({ kind, isMarked }) => kind === 'comments' && isMarked);
  if (section) {
    const added = nextComment(text.slice(section.bodyStart, section.bodyEnd), comment, wallMs);
    return { start: section.bodyEnd, end: section.bodyEnd, text: added };
  }
  const at = commentsPosition(sections) ?? text.length;
  const before = /\n\r?\n$/.test(text.slice(0, at)) ? '' : text[at - 1] === '\n' ? '\n' : '\n\n';
  const after = at === text.length ? '\n' : /^\r?\n/.test(text.slice(at, at + 2)) ? '' : '\n\n';
  return { start: at, end: at, text: `${before}${newCommentsSection(comment, wallMs)}${after}` };
}

/** The position at which Backlog.md inserts the section of comments. */
function commentsPosition(sections: readonly Section[]): number | null {
  const last = (kind: SectionKind) => sections.findLast((section) => section.kind === kind);
  const before = last('notes') ?? last('plan');
  if (before) return before.end;
  return last('summary')?.start ?? (last('done') ?? last('criteria') ?? last('description'))?.end ?? null;
}

/** Compares parsed tasks, because YAML and Markdown have more forms than the edits can know. */
function requireOnlyEdit(before: Task, edited: string, { status, comment }: TaskEdit): void {
  const { updatedAt: _, comments, ...after } = reread(edited);
  const { updatedAt: __, comments: commentsBefore, ...expected } = before;
  const isCommented =
    comment === undefined
      ? isDeepStrictEqual(comments, commentsBefore)
      : comments.length > commentsBefore.length && hasAllAnd(commentsBefore, comments, comment);
  if (!isCommented || !isDeepStrictEqual(after, { ...expected, status: status ?? before.status })) throw unsafe();
}

/** Whether `after` has all comments of `before` in their order, and `added`. */
function hasAllAnd(before: Task['comments'], after: Task['comments'], added: string): boolean {
  let found = 0;
  let isAdded = false;
  for (const comment of after) {
    if (found < before.length && isDeepStrictEqual(comment, before[found])) found += 1;
    else if (comment.body === added) isAdded = true;
  }
  return isAdded && found === before.length;
}

function reread(edited: string): Task {
  try {
    return parseTask(edited);
  } catch (error) {
    throw error instanceof UnreadableTaskError ? unsafe(error) : error;
  }
}

function unsafe(cause?: unknown): EditRefused {
  return new EditRefused('Its file cannot be changed safely; change it by hand.', { cause });
}
