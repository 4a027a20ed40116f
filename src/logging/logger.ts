import { constants, fstatSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type Logger, pino, stdSerializers } from 'pino';
import type { Note } from '../domain/note.js';
import { cutText } from '../text/phrases.js';
import { formatPretty } from './pretty.js';
import { type Redactor, safeLine } from './redact.js';
import { RotatingFile } from './rotating-file.js';
import { LineWriter, lossySink, reasonOf, type SafeSink, type Sink, sinkRecord } from './sink.js';

interface LoggerOptions {
  readonly level: LogLevel;
  readonly redactor: Redactor;
  /** The stream for people; `null` for none. Default: `stderr`. */
  readonly stream?: 'stdout' | 'stderr' | LogStream | null;
  /** The level of the stream, when it differs from that of the file. */
  readonly streamLevel?: LogLevel;
  /** `auto` (the default): pretty on a terminal, otherwise JSON lines. */
  readonly pretty?: boolean | 'auto';
  /** A file that gets JSON lines in addition to the stream. */
  readonly file?: LogFile | null;
}

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

/** Writes each line at once, and throws when it fails. */
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
 * Creates a pino logger whose lines are written before the call returns, so that a crash loses no line. Every line is masked and
 * neutralised once, then written to each sink; a failing sink loses only its own lines. Identity is bound by
 * `log.child({ issue_id, issue_identifier, run_id, session_id })`.
 */
export function createLogger(options: LoggerOptions): Logger {
  const sinks = new Map<string, SafeSink>();
  const reportToOthers = (broken: string, error: unknown): void => {
    const { path } = error as NodeJS.ErrnoException;
    const fields = { sink: broken, ...(path ? { path } : {}), reason: reasonOf(error) };
    const record = sinkRecord('log sink failed, its lines are lost', fields);
    for (const [name, sink] of sinks) if (name !== broken) sink.write(record);
  };
  for (const sink of sinksOf(options)) sinks.set(sink.name, lossySink(sink, reportToOthers));

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
        const safe = safeLine(line.trimEnd(), options.redactor);
        for (const sink of sinks.values()) sink.write(safe);
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

/** Passes lines of at least this level. Lines begin with their level, both those of pino and those about the log itself. */
function fromLevel(least: LogLevel, sink: Sink): Sink {
  const rank = (level: string) => pino.levels.values[level] ?? Number.POSITIVE_INFINITY;
  const isPassed = (line: string) => rank(/^\{"level":"(\w+)"/.exec(line)?.[1] ?? '') >= rank(least);
  return { name: sink.name, write: (line) => (isPassed(line) ? sink.write(line) : undefined) };
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
 * Opens the same pipe or terminal again, non-blocking: a reader that stops reading must not block the daemon, and the flag must not be
 * set for other processes that share the descriptor. Files keep their descriptor: they never block, and a second one has its own
 * position, so that `baton > log 2>&1` would overwrite itself. So do sockets, and systems without /proc.
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

/** Enough to recognise an issue. */
const MAX_TITLE = 120;

/** Logs a note of the core: its constant message, and its fields in snake_case. */
export function logNote(log: Logger, note: Note): void {
  const fields: { [key: string]: unknown } = {};
  for (const [key, value] of Object.entries(note.fields ?? {}))
    fields[snakeCase(key)] = key === 'title' && typeof value === 'string' ? cutText(value, MAX_TITLE) : value;
  // Identity last: no field of a note may replace the issue or the run.
  if (note.issueId !== undefined) fields.issue_id = note.issueId;
  if (note.identifier !== undefined) fields.issue_identifier = note.identifier;
  if (note.runId !== undefined) fields.run_id = note.runId;
  log[note.level](fields, note.message);
}

function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
