import type { Io } from '../io.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface Interruption {
  readonly signal: AbortSignal;
  /** From here on a signal ends us as it ends anybody. */
  restore(): void;
}

/** For commands that go on until somebody has seen enough: a person who presses Ctrl-C, or a reader who has gone. */
export function untilInterrupted({ stdout }: Pick<Io, 'stdout'>): Interruption {
  const controller = new AbortController();
  const end = () => controller.abort();
  for (const name of SIGNALS) process.on(name, end);
  stdout.on('error', end);
  stdout.on('close', end);
  return {
    signal: controller.signal,
    restore() {
      for (const name of SIGNALS) process.off(name, end);
      stdout.off('error', end);
      stdout.off('close', end);
    },
  };
}
