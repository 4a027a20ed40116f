import { dirname } from 'node:path';
import { BatonError } from '../domain/errors.js';

type Trouble = 'busy' | 'refused' | 'full' | 'broken_disk' | 'damaged' | 'other';

/** Primary result codes of SQLite, and the texts that come without one when a statement fails in its middle. */
const TROUBLES: readonly (readonly [number, RegExp, Trouble])[] = [
  [5, /database is locked/, 'busy'],
  [6, /table is locked/, 'busy'],
  [3, /access permission denied/, 'refused'],
  [8, /readonly database/, 'refused'],
  [14, /unable to open database/, 'refused'],
  [13, /disk is full/, 'full'],
  [10, /disk I\/O error/, 'broken_disk'],
  [11, /disk image is malformed/, 'damaged'],
  [26, /is not a database/, 'damaged'],
];

export function isBusy(error: unknown): boolean {
  return troubleOf(error) === 'busy';
}

export function isDamage(error: unknown): boolean {
  return troubleOf(error) === 'damaged';
}

/** What SQLite says becomes what happened, to which file, and what to do. */
export function storeFailure(error: unknown, path: string, doing: string): BatonError {
  if (error instanceof BatonError) return error;
  const said = error instanceof Error ? error.message : String(error);
  const advice = adviceFor(troubleOf(error), path, doing === 'opened');
  return new BatonError('store_failed', `${path} cannot be ${doing}: ${said}. ${advice}`, { path }, { cause: error });
}

function troubleOf(error: unknown): Trouble {
  const { errcode, message, code } = error as { errcode?: number; message?: string; code?: string };
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'full';
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return 'refused';
  const found = TROUBLES.find(([code, text]) =>
    errcode === undefined ? text.test(message ?? '') : (errcode & 0xff) === code,
  );
  return found?.[2] ?? 'other';
}

function adviceFor(trouble: Trouble, path: string, isStart: boolean): string {
  switch (trouble) {
    case 'busy':
      return `Another process is using it: find it with "fuser ${path}" and end it`;
    case 'refused':
      return `Make ${dirname(path)} and the files in it writable for this user, or choose another folder with --state-dir`;
    case 'full':
      return `Free space on the disk of ${dirname(path)}; ${isStart ? 'then start Baton again' : 'Baton goes on by itself'}`;
    case 'broken_disk':
      return `Look at the disk of ${dirname(path)} (full, unplugged, failing?)`;
    case 'damaged':
      return 'The file is damaged: restart Baton, and it sets the file aside and begins a new one';
    default:
      return 'Report this with the log';
  }
}
