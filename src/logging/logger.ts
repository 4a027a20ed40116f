import { type Logger, pino, stdSerializers } from 'pino';
import { neutraliseJson } from '../text/neutralise.js';
import { formatPretty } from './pretty.js';
import type { Redactor } from './redact.js';
import { RotatingFile } from './rotating-file.js';
import { keepGoing, reasonOf, type SafeSink, type Sink, sinkRecord } from './sink.js';
import { terminalSink } from './terminal.js';

export interface LoggerOptions {
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
