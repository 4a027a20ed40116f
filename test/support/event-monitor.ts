/** Picks events: by their `type` (or the `msg` of a log record), or by a test of their content. */
export type Matcher<T> = string | ((event: T) => boolean);

/**
 * Collects events, so that tests wait for events and never for time. `next` checks the events since the last one
 * it returned, then waits. So no earlier event is missed, and each event is returned once.
 */
export class EventMonitor<T extends object> {
  readonly seen: T[] = [];
  #cursor = 0;
  #waiters = new Set<() => void>();

  /** Bound: can be passed on as a listener. */
  readonly push = (event: T): void => {
    this.seen.push(event);
    for (const wake of [...this.#waiters]) wake();
  };

  async next(matcher: Matcher<T>, timeoutMs = 10_000): Promise<T> {
    const deadline = AbortSignal.timeout(timeoutMs);
    for (let position = this.#cursor; ; ) {
      for (; position < this.seen.length; position++) {
        const event = this.seen[position];
        if (!event || !matches(event, matcher)) continue;
        this.#cursor = Math.max(this.#cursor, position + 1);
        return event;
      }
      if (deadline.aborted) throw new Error(this.#missing(matcher, timeoutMs));
      await this.#pushedOr(deadline);
    }
  }

  /** All that match, from the beginning. */
  all(matcher: Matcher<T>): T[] {
    return this.seen.filter((event) => matches(event, matcher));
  }

  /** Skips all events so far. */
  skipSeen(): void {
    this.#cursor = this.seen.length;
  }

  #pushedOr(deadline: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiters.delete(wake);
        deadline.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiters.add(wake);
      deadline.addEventListener('abort', wake, { once: true });
    });
  }

  #missing(matcher: Matcher<T>, timeoutMs: number): string {
    const wanted = typeof matcher === 'string' ? `"${matcher}"` : String(matcher);
    const list = this.seen.map((event) => `  ${JSON.stringify(event)}`.slice(0, 300)).join('\n');
    return `no ${wanted} within ${timeoutMs} ms; seen so far:\n${list || '  (nothing)'}`;
  }
}

export type LogRecord = { readonly level: string; readonly msg: string; readonly [field: string]: unknown };

/** A monitor of log records, and the stream that feeds it: `createLogger({ stream: records.stream, … })`. */
export class LogMonitor extends EventMonitor<LogRecord> {
  readonly stream = { write: (line: string): void => this.push(JSON.parse(line) as LogRecord) };
}

function matches<T extends object>(event: T, matcher: Matcher<T>): boolean {
  if (typeof matcher === 'function') return matcher(event);
  const name = 'type' in event ? event.type : 'msg' in event ? event.msg : undefined;
  return name === matcher;
}
