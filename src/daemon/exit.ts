import type { Logger } from 'pino';
import { removeFolder } from '../../runner/run-folder.js';
import { withinLimit } from '../domain/clock.js';
import { BatonError } from '../domain/errors.js';
import type { Parts } from './resources.js';

/** A part that does not close in this time is left behind: nobody can hurry it, the loop that hears signals is closed already. */
const CLOSE_LIMIT_MS = 5_000;

interface Closable {
  /** `isHurried`: nobody will wait for what is not essential. */
  close(isHurried: boolean): Promise<void>;
}

export interface Exit {
  /** The exit code, once everything is closed. */
  readonly exited: Promise<number>;
  /** A part that was opened just now, and is closed before all others. */
  closeFirst(part: Closable): void;
  leave(code: number, isForced: boolean): Promise<void>;
}

/** Closes everything once, in the reverse order of the start. A part that does not close well is said, and the rest goes on. */
export function createExit(log: Logger, parts: Parts, closeLoop: () => void): Exit {
  let leaving: Promise<void> | null = null;
  const first: Closable[] = [];
  let resolveExited = (_code: number): void => {};
  const exited = new Promise<number>((resolve) => {
    resolveExited = resolve;
  });
  const late = () => new BatonError('internal_error', `it did not close within ${CLOSE_LIMIT_MS} ms`);
  const closeAll = async (code: number, isForced: boolean) => {
    closeLoop();
    const bounded = (close: () => Promise<void>) =>
      withinLimit(parts.clock, CLOSE_LIMIT_MS, close, late).catch((error: unknown) =>
        log.error({ err: error }, 'a part did not close well'),
      );
    if (isForced) await bounded(() => parts.pool.killAll());
    for (const part of [...first, parts.capabilities, parts.tracker, parts.runLog, parts.store, parts.issueLocks])
      await bounded(() => part.close(isForced));
    await bounded(() => parts.tidied);
    const litter = await removeFolder(parts.tmpRoot);
    if (litter) log.warn({ folder: parts.tmpRoot, detail: litter.message }, 'temporary folder could not be removed');
    // Last: whoever comes next may touch everything.
    await bounded(() => parts.locks.release());
    parts.clock.close();
    log.info({ forced: isForced }, 'stopped');
    resolveExited(code);
  };
  return {
    exited,
    closeFirst(part) {
      first.unshift(part);
    },
    leave(code, isForced) {
      leaving ??= closeAll(code, isForced);
      return leaving;
    },
  };
}
