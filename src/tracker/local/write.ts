import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, linkSync, openSync, readSync, renameSync } from 'node:fs';
import { mkdir, open, rmdir, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { isScalar, type Scalar } from 'yaml';
import { BatonError, toBatonError } from '../../domain/errors.js';
import { stateKey } from '../../domain/issue.js';
import type { Card } from './board.js';
import { type FrontMatter, parseFrontMatter, parseTask, type Task } from './parse-task.js';
import {
  findSections,
  formatBacklogDate,
  harmlessComment,
  newCommentsSection,
  nextComment,
  type Section,
  type SectionKind,
  TaskUnreadable,
} from './sections.js';
import { decodeTask, type FileStats, MAX_TASK_BYTES, READ_AS_IT_IS, readTaskFile } from './task-files.js';

const ATTEMPTS = 10;
/** Long enough for an editor that saves by delete and create. */
const PAUSE_MS = 100;
const LOCK_TIMEOUT_MS = 5_000;

interface UpdateOptions {
  readonly folder: string;
  readonly issueId: string;
  /** Where the task is now; null when it is not to be seen at the moment. Throws `tracker_refused` when it is gone. */
  locate(): Promise<Card | null>;
  /** What to change in it; null for nothing. Throws `tracker_refused`. */
  plan(card: Card): TaskEdit | null;
  readonly wallMs: () => number;
  readonly signal: AbortSignal;
}

/** Changes the file of a task as it is at that moment, whoever else writes to it. Throws `BatonError`. */
export async function updateTask(options: UpdateOptions): Promise<Card> {
  const { issueId, locate, plan, signal } = options;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    if (signal.aborted) throw new BatonError('tracker_request', `The change of ${issueId} was given up.`);
    const card = await locate();
    const edit = card && plan(card);
    if (card && (edit === null || (await tryUpdate(card, edit, options)))) return card;
    await delay(PAUSE_MS);
  }
  const message = `${issueId} was not changed: its file is missing, cannot be read, or changes all the time. Look at it in ${options.folder}, or try again later.`;
  throw new BatonError('tracker_refused', message);
}

async function tryUpdate(card: Card, edit: TaskEdit, { folder, wallMs }: UpdateOptions): Promise<boolean> {
  let isDone = false;
  try {
    const isFree = await withTaskLock({ folder, taskId: lockedId(card), timeoutMs: LOCK_TIMEOUT_MS }, async () => {
      const file = await readTaskFile(card.path);
      if (!file) return;
      const text = decodeTask(file.bytes);
      const edited = editedText(card, text, edit, wallMs());
      if (edited === null) {
        isDone = true;
        return;
      }
      const content = Buffer.from(edited);
      // Nobody could read it any more, and the issue would be lost.
      if (content.length > MAX_TASK_BYTES) throw new EditRefused(`It would be larger than ${MAX_TASK_BYTES} bytes.`);
      isDone = await replaceTaskFile(card.path, { expected: file.bytes, stats: file.stats, content });
    });
    if (!isFree) {
      const message = `${card.task.id} is being changed by somebody else for more than ${LOCK_TIMEOUT_MS / 1000} s (its lock is in ${folder}/.locks). Try again later.`;
      throw new BatonError('tracker_refused', message);
    }
    return isDone;
  } catch (error) {
    if (error instanceof EditRefused) throw refused(`${card.path}: ${error.message}`, error);
    // Half-written by somebody else: there will be more to see in a moment.
    if (error instanceof TaskUnreadable) return false;
    if (error instanceof BatonError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const message = `${card.path} could not be written (${code ?? toBatonError(error).message}). Check rights and free space of ${folder}.`;
    throw new BatonError('tracker_request', message, { code }, { cause: error });
  }
}

/** `null` when nothing is to be changed: the task is there already, and there is nothing to say. */
function editedText(card: Card, text: string, { status, comment }: TaskEdit, wallMs: number): string | null {
  const { status: current, id } = parseTask(text);
  if (id !== card.task.id) throw new TaskUnreadable(`is no longer ${card.task.id}`);
  const isThere = status === undefined || stateKey(status) === stateKey(current);
  if (isThere && comment === undefined) return null;
  const edit = { ...(isThere ? {} : { status }), ...(comment === undefined ? {} : { comment }) };
  return editTask(text, edit, wallMs);
}

/** Backlog.md names its locks after the id as written, with the prefix that it may lack. */
function lockedId({ id, task }: Card): string {
  return /^[a-z]+-/i.test(task.id) ? task.id : id;
}

function refused(message: string, cause: unknown): BatonError {
  return new BatonError('tracker_refused', message, {}, { cause });
}

interface TaskEdit {
  readonly status?: string;
  readonly comment?: string;
}

/** Why a text will not be changed, as a sentence. */
class EditRefused extends Error {}

/**
 * The text of a task with another status, one more comment, or both, and the date of the change; everything else stays
 * byte for byte as it is. What comes out has been read again: when it does not say exactly what was meant, nothing is
 * changed. Throws `TaskUnreadable` and `EditRefused`.
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
  assertMeant(parseTask(text), edited, { ...edit, ...(comment === undefined ? {} : { comment }) });
  return edited;
}

interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Added text ends its lines as the file does. */
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

/** Backlog.md sets it on every change, behind `created_date`. */
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
  // A block of text ends behind its last line.
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

/** In the quotes that were there; without, only what no YAML reader takes for anything but text. */
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
  const at = placeForComments(sections) ?? text.length;
  const before = /\n\r?\n$/.test(text.slice(0, at)) ? '' : text[at - 1] === '\n' ? '\n' : '\n\n';
  const after = at === text.length ? '\n' : /^\r?\n/.test(text.slice(at, at + 2)) ? '' : '\n\n';
  return { start: at, end: at, text: `${before}${newCommentsSection(comment, wallMs)}${after}` };
}

/** Where Backlog.md puts a new section of comments. */
function placeForComments(sections: readonly Section[]): number | null {
  const last = (kind: SectionKind) => sections.findLast((section) => section.kind === kind);
  const behind = last('notes') ?? last('plan');
  if (behind) return behind.end;
  return last('summary')?.start ?? (last('done') ?? last('criteria') ?? last('description'))?.end ?? null;
}

/** YAML and Markdown can be written in more ways than anybody thinks of: compare what is read, not what was intended. */
function assertMeant(before: Task, edited: string, { status, comment }: TaskEdit): void {
  const { updatedAt: _, comments, ...after } = reread(edited);
  const { updatedAt: __, comments: commentsBefore, ...expected } = before;
  const isSaid =
    comment === undefined
      ? isDeepStrictEqual(comments, commentsBefore)
      : comments.length > commentsBefore.length && keepsAll(commentsBefore, comments, comment);
  if (!isSaid || !isDeepStrictEqual(after, { ...expected, status: status ?? before.status })) throw unsafe();
}

/** Are all of `before` among `after`, in their order, and `added` besides? */
function keepsAll(before: Task['comments'], after: Task['comments'], added: string): boolean {
  let kept = 0;
  let isAdded = false;
  for (const comment of after) {
    if (kept < before.length && isDeepStrictEqual(comment, before[kept])) kept += 1;
    else if (comment.body === added) isAdded = true;
  }
  return isAdded && kept === before.length;
}

function reread(edited: string): Task {
  try {
    return parseTask(edited);
  } catch (error) {
    throw error instanceof TaskUnreadable ? unsafe(error) : error;
  }
}

function unsafe(cause?: unknown): EditRefused {
  return new EditRefused('Its file is written in a way that cannot be changed safely; change it by hand.', { cause });
}

/** An editor that had the file open when we replaced it has written by then. */
const SETTLE_MS = 50;

/**
 * Replaces a file as a whole, if it still holds `expected`: the new content is on disk under a name that neither we nor
 * Backlog.md read, then takes the place of the old. `false` when somebody changed the file meanwhile: before, or into the
 * old file while it was being replaced, which is then put back. Rights are kept.
 */
export async function replaceTaskFile(
  file: string,
  { expected, stats, content }: { expected: Buffer; stats: FileStats; content: Buffer },
): Promise<boolean> {
  const hidden = path.join(path.dirname(file), `.baton-${randomBytes(8).toString('hex')}`);
  const [temporary, old] = [`${hidden}.tmp`, `${hidden}.old.tmp`];
  try {
    await writeNew(temporary, content, stats);
    const isKept = hasSecondName(file, old);
    // Nothing else of this process runs between the comparison and the rename.
    if (!holds(file, expected)) return false;
    renameSync(temporary, file);
    await syncFolder(path.dirname(file));
    if (!isKept) return true;
    await delay(SETTLE_MS);
    if (holds(old, expected) || !holds(file, content)) return true;
    renameSync(old, file);
    return false;
  } finally {
    // After a rename there is nothing left to remove.
    for (const name of [temporary, old]) await unlink(name).catch(() => {});
  }
}

/** Not every file system knows how. */
function hasSecondName(file: string, name: string): boolean {
  try {
    linkSync(file, name);
    return true;
  } catch {
    return false;
  }
}

async function writeNew(file: string, content: Buffer, stats: FileStats): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    // Only root may give files away; a group of our own we may set.
    await handle.chown(Number(stats.uid), Number(stats.gid)).catch(() => {});
    await handle.chmod(Number(stats.mode) & 0o7777);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Whatever lies there by now: nothing is waited for, and no more than one byte more is read. */
function holds(file: string, expected: Buffer): boolean {
  let fd: number | null = null;
  try {
    fd = openSync(file, READ_AS_IT_IS);
    if (!fstatSync(fd).isFile()) return false;
    const found = Buffer.allocUnsafe(expected.length + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < found.length; length += read) {
      read = readSync(fd, found, length, found.length - length, null);
    }
    return found.subarray(0, length).equals(expected);
  } catch {
    return false;
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

/** The rename itself survives a crash of the machine; some file systems do not know how, and that is no failure. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => null);
  if (!handle) return;
  await handle.sync().catch(() => {});
  await handle.close();
}

/** Backlog.md takes a lock that nobody renewed for this long as abandoned. */
const STALE_MS = 10_000;
const RETRY_MS = 50;

/**
 * Holds the lock that Backlog.md itself takes while it changes a task: a folder below `.locks`, named after the task. So
 * neither of the two writes over what the other has just written. `false` when it is not free in time.
 */
export async function withTaskLock(
  { folder, taskId, timeoutMs }: { folder: string; taskId: string; timeoutMs: number },
  act: () => Promise<void>,
): Promise<boolean> {
  const name = taskId
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^\.+/, '');
  const lock = path.join(folder, '.locks', `task-${name}`);
  // Not recursive: a board that is away (a checkout, a disk) must not come back empty, or all of its issues would be gone.
  await mkdir(path.dirname(lock)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  for (let waitedMs = 0; !(await take(lock)); waitedMs += RETRY_MS) {
    if (waitedMs >= timeoutMs) return false;
    await delay(RETRY_MS);
  }
  try {
    await act();
    return true;
  } finally {
    // Gone already when somebody took it for abandoned; one that stays is abandoned in ten seconds.
    await rmdir(lock).catch(() => {});
  }
}

async function take(lock: string): Promise<boolean> {
  try {
    await mkdir(lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  // Whoever held it, or others who waited, may have removed it by now: the next try will tell.
  const stats = await stat(lock).catch(() => null);
  if (stats && Date.now() - stats.mtimeMs > STALE_MS) await rmdir(lock).catch(() => {});
  return false;
}
