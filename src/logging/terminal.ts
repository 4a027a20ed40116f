import { constants, fstatSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { Sink } from './sink.js';
import { LineWriter } from './write-fully.js';

/** Standard output or error as a sink. */
export function terminalSink(fd: 1 | 2): Sink & { readonly isTerminal: boolean } {
  const target = nonBlocking(fd);
  const lines = new LineWriter();
  return {
    name: fd === 1 ? 'stdout' : 'stderr',
    isTerminal: isatty(fd),
    write: (line) => {
      lines.write(target, line);
    },
  };
}

/**
 * The same pipe or terminal through a description of our own, so that a reader who stopped reading cannot block us and the
 * flag is not set for others who share it. Files stay as they are (they never block, and a second description has a second
 * position: `baton > log 2>&1` would overwrite itself), and so do sockets and systems without /proc.
 */
function nonBlocking(fd: number): number {
  try {
    if (!fstatSync(fd).isFIFO() && !isatty(fd)) return fd;
    return openSync(
      `/proc/self/fd/${fd}`,
      constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK | constants.O_NOCTTY,
    );
  } catch {
    return fd;
  }
}
