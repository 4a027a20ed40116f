/** Takes whole lines that end in a newline. May throw. */
export interface Sink {
  readonly name: string;
  write(line: string): void;
}

/** Never throws. */
export interface SafeSink {
  write(line: string): void;
}

/**
 * A sink that breaks costs lines, never the daemon. Lines that cannot be written are counted; when the sink works again, the
 * first thing it gets is one line that says how many are missing. `onBroken` hears of each new break once.
 */
export function keepGoing(sink: Sink, onBroken: (name: string, error: unknown) => void): SafeSink {
  let lost = 0;
  let reason = '';

  return {
    write(line) {
      try {
        if (lost > 0) {
          sink.write(sinkRecord('log lines were lost', { sink: sink.name, lost, reason }));
          lost = 0;
        }
        sink.write(line);
      } catch (error) {
        lost += 1;
        reason = reasonOf(error);
        if (lost === 1) onBroken(sink.name, error);
      }
    },
  };
}

/** A record about the log itself; the logger cannot be asked to write it. */
export function sinkRecord(msg: string, fields: { readonly [key: string]: unknown }): string {
  return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), ...fields, msg })}\n`;
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
