import { type Command, InvalidArgumentError } from 'commander';
import type { LogLevel } from '../logging/logger.js';
import type { Io } from './io.js';

/** What the definition of a command needs. Its implementation is imported only when it is called: `--help` must not load the engine. */
export interface ProgramContext {
  readonly program: Command;
  readonly io: Io;
  readonly version: string;
  /** Receives the exit code. */
  done(code: number): void;
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const satisfies LogLevel[];

/** For an option that may be repeated. */
export function collect(text: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, text];
}

export function parsePort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError('It must be a number from 0 to 65535.');
}

export function parseSeconds(max: number): (text: string) => number {
  return (text) => {
    const seconds = Number(text);
    if (/^\d+(?:\.\d+)?$/.test(text) && seconds > 0 && seconds <= max) return seconds;
    throw new InvalidArgumentError(`It must be a number of seconds, up to ${max}.`);
  };
}
