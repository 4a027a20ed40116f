import { constants, fstatSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type Logger, pino, stdSerializers } from 'pino';
import type { Note } from '../domain/note.js';
import { neutraliseJson } from '../text/neutralise.js';
import { cutText, formatPretty } from './pretty.js';
import type { Redactor } from './redact.js';
import { RotatingFile } from './rotating-file.js';
import { keepGoing, LineWriter, reasonOf, type SafeSink, type Sink, sinkRecord } from './sink.js';

interface LoggerOptions {
  readonly level: LogLevel;
  readonly redactor: Redactor;
  /** Where people look; `null` for nowhere. Default: `stderr`. */
  readonly stream?: 'stdout' | 'stderr' | LogStream | null;
  /** For the stream, where it should tell less than the file. */
  readonly streamLevel?: LogLevel;
  /** `auto` (the default): pretty when the stream is a terminal, else JSON lines. */
  readonly pretty?: boolean | 'auto';
  /** JSON lines, always, besides the stream. */
  readonly file?: LogFile | null;
}

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

/** Takes each line at once. A sink that fails must throw. */
interface LogStream {
  readonly isTTY?: boolean;
  write(line: string): unknown;
}

interface LogFile {
  readonly path: string;
  readonly maxBytes?: number;
  readonly keep?: number;
}

const DEFAULT_FILE = { maxBytes: 10_000_000, keep: 5 };

/**
 * JSON lines through pino, written before the call returns so that no line is lost in a crash. Every line is masked
 * and neutralised once, then goes to each sink; a sink that fails costs its own lines only. Identity is bound by
 * `log.child({ issue_id, issue_identifier, run_id, session_id })`.
 */
export function createLogger(options: LoggerOptions): Logger {
  const sinks = new Map<string, SafeSink>();
  const tellOthers = (broken: string, error: unknown): void => {
    const { path } = error as NodeJS.ErrnoException;
    const fields = { sink: broken, ...(path ? { path } : {}), reason: reasonOf(error) };
    const record = sinkRecord('log sink failed, its lines are lost', fields);
    for (const [name, sink] of sinks) if (name !== broken) sink.write(record);
  };
  for (const sink of sinksOf(options)) sinks.set(sink.name, keepGoing(sink, tellOthers));

  return pino(
    {
      level: options.level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: stdSerializers.err, error: stdSerializers.err, cause: stdSerializers.err },
    },
    {
      write(line) {
        const clean = `${neutraliseJson(options.redactor.maskJson(line.trimEnd()))}\n`;
        for (const sink of sinks.values()) sink.write(clean);
      },
    },
  );
}

function sinksOf({ stream = 'stderr', pretty = 'auto', file, streamLevel = 'trace' }: LoggerOptions): Sink[] {
  const sinks: Sink[] = [];
  if (stream !== null) sinks.push(fromLevel(streamLevel, streamSink(stream, pretty)));
  if (file) sinks.push(new RotatingFile({ ...DEFAULT_FILE, ...file }));
  return sinks;
}

/** Lines begin with their level: it is how pino writes them, and records about the log itself too. */
function fromLevel(least: LogLevel, sink: Sink): Sink {
  const worth = (level: string) => pino.levels.values[level] ?? Number.POSITIVE_INFINITY;
  const isTold = (line: string) => worth(/^\{"level":"(\w+)"/.exec(line)?.[1] ?? '') >= worth(least);
  return { name: sink.name, write: (line) => (isTold(line) ? sink.write(line) : undefined) };
}

function streamSink(stream: 'stdout' | 'stderr' | LogStream, pretty: boolean | 'auto'): Sink {
  const target =
    typeof stream === 'string' ? terminalSink(stream === 'stdout' ? 1 : 2) : { name: 'stream', ...wrap(stream) };
  const isPretty = pretty === 'auto' ? target.isTerminal : pretty;
  if (!isPretty) return target;
  const colour = target.isTerminal && !process.env.NO_COLOR;
  return { name: target.name, write: (line) => target.write(formatPretty(line, { colour })) };
}

function wrap(stream: LogStream): { readonly isTerminal: boolean; write(line: string): void } {
  return {
    isTerminal: stream.isTTY === true,
    write: (line) => {
      stream.write(line);
    },
  };
}

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

/** It is there to be recognised, and somebody else wrote it. */
const MAX_TITLE = 120;

/** A decision of the core as a log line: its constant message, and fields in the spelling of logs. */
export function logNote(log: Logger, note: Note): void {
  const fields: { [key: string]: unknown } = {};
  for (const [key, value] of Object.entries(note.fields ?? {}))
    fields[snakeCase(key)] = key === 'title' && typeof value === 'string' ? cutText(value, MAX_TITLE) : value;
  // Identity last: no field of a note may pretend to be another issue or run.
  if (note.issueId !== undefined) fields.issue_id = note.issueId;
  if (note.identifier !== undefined) fields.issue_identifier = note.identifier;
  if (note.runId !== undefined) fields.run_id = note.runId;
  log[note.level](fields, note.message);
}

function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
