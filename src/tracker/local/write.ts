import { setTimeout as delay } from 'node:timers/promises';
import { BatonError, toBatonError } from '../../domain/errors.js';
import { stateKey } from '../../domain/issue.js';
import type { Card } from './board.js';
import { EditRefused, editTask, type TaskEdit } from './edit-task.js';
import { parseTask } from './parse-task.js';
import { decodeTask, MAX_TASK_BYTES, readTaskFile } from './read-task-file.js';
import { withTaskLock } from './task-lock.js';
import { TaskUnreadable } from './task-unreadable.js';
import { replaceTaskFile } from './write-task-file.js';

const ATTEMPTS = 10;
/** Long enough for an editor that saves by delete and create. */
const PAUSE_MS = 100;
const LOCK_TIMEOUT_MS = 5_000;

export interface UpdateOptions {
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
