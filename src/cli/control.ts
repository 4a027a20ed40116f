import { neutraliseLines } from '../text/neutralise.js';
import { acceptedShape } from '../status/shapes/request-shapes.js';
import type { DaemonTarget } from './daemon-place.js';
import type { Io } from './io.js';
import { localTimes } from '../text/format-duration.js';
import { pathOf, withDaemon } from './with-daemon.js';

export interface ChangeOptions {
  /** `null`: it is about the whole daemon. */
  readonly issue: string | null;
  readonly action: 'stop' | 'retry' | 'pause' | 'resume' | 'answer' | 'message';
  readonly body?: object;
  readonly target: DaemonTarget;
}

/** Asks the daemon for something and prints what comes of it. */
export function change({ issue, action, body = {}, target }: ChangeOptions, io: Io): Promise<number> {
  return withDaemon(target, io, async (client) => {
    const path = issue === null ? `/api/v1/${action}` : pathOf(issue, action);
    const { message } = await client.post(path, body, acceptedShape);
    io.stdout.write(`${neutraliseLines(localTimes(message, Date.now()))}\n`);
    return 0;
  });
}
