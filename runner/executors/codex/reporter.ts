import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { fieldsOf, type Json, type JsonObject } from '../../../src/domain/json.js';
import type { RunSignal, RuntimeEvent, RuntimeEventType, TokenTotals } from '../../../src/domain/run-signal.js';
import type { StepContext } from '../executor.js';
import { type FairScheduler, readFairly } from '../read-lines.js';
import { NOTICES } from './protocol.js';

/** Says upward what happens in a run, each event with its time, process and session. After `end` nothing is said any more. */
export class Reporter {
  pid: number | null = null;
  threadId: string | null = null;
  turnId: string | null = null;
  #ended = false;

  constructor(private readonly context: Pick<StepContext, 'emit' | 'clock' | 'workspace'>) {}

  get sessionId(): string | null {
    return this.threadId !== null && this.turnId !== null ? `${this.threadId}-${this.turnId}` : null;
  }

  event(type: RuntimeEventType, extra: EventExtra = {}): void {
    const { data, ...rest } = extra;
    this.signal({
      type: 'event',
      event: {
        type,
        timestamp: new Date(this.context.clock.now().wallMs).toISOString(),
        pid: this.pid,
        ...this.#session(),
        ...rest,
        ...(namesFiles(data) ? { workspace: this.context.workspace } : {}),
        ...(data === undefined ? {} : { data: rest.method === NOTICES.diff ? boundData(data, WIDE) : boundData(data) }),
      },
    });
  }

  /** Something a person should know that is no message of the agent's. */
  warning(warning: string, data: object = {}): void {
    this.event('other_message', { data: { warning, ...data } });
  }

  signal(signal: RunSignal): void {
    if (!this.#ended) this.context.emit(signal);
  }

  end(): void {
    this.#ended = true;
  }

  #session(): Pick<RuntimeEvent, 'threadId' | 'turnId' | 'sessionId'> {
    const { threadId, turnId, sessionId } = this;
    return {
      ...(threadId === null ? {} : { threadId }),
      ...(turnId === null ? {} : { turnId }),
      ...(sessionId === null ? {} : { sessionId }),
    };
  }
}

function namesFiles(data: unknown): boolean {
  return fieldsOf(fieldsOf(data).item).type === 'fileChange';
}

interface EventExtra {
  readonly method?: string;
  readonly usage?: TokenTotals;
  /** Bounded here. */
  readonly data?: unknown;
}

/** Cuts what an agent sent to a size that is fit for logs and pages: strings, lists, maps, depth and the whole are bounded. */
const MAX_TEXT = 2_000;
const MAX_ENTRIES = 40;
const MAX_DEPTH = 6;
const MAX_TOTAL = 16_000;

/** One text that people want to see whole, such as the diff of a turn. */
const WIDE = { text: 100_000, total: 110_000 };

export function boundData(value: unknown, max = { text: MAX_TEXT, total: MAX_TOTAL }): JsonObject {
  const bounded = bound(value, 0, { left: max.total, text: max.text });
  const isMap = typeof bounded === 'object' && bounded !== null && !Array.isArray(bounded);
  return isMap ? (bounded as JsonObject) : { value: bounded };
}

export function cutText(text: string, max = MAX_TEXT): string {
  return text.length <= max ? text : `${text.slice(0, max)}… (${text.length - max} more characters)`;
}

interface Budget {
  left: number;
  readonly text: number;
}

function bound(value: unknown, depth: number, budget: Budget): Json {
  switch (typeof value) {
    case 'string': {
      const cut = cutText(value, Math.max(0, Math.min(budget.text, budget.left)));
      budget.left -= cut.length;
      return cut;
    }
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'boolean':
      return value;
    case 'object':
      if (value === null) return null;
      if (depth >= MAX_DEPTH || budget.left <= 0) return '…';
      return Array.isArray(value) ? boundList(value, depth, budget) : boundMap(value, depth, budget);
    default:
      return null;
  }
}

function boundList(list: readonly unknown[], depth: number, budget: Budget): Json {
  const kept = list.slice(0, MAX_ENTRIES).map((entry) => bound(entry, depth + 1, budget));
  return list.length > MAX_ENTRIES ? [...kept, `… (${list.length - MAX_ENTRIES} more)`] : kept;
}

// `fromEntries` defines own properties: a `__proto__` key stays a key.
function boundMap(map: object, depth: number, budget: Budget): Json {
  const keys = Object.keys(map);
  const kept = keys.slice(0, MAX_ENTRIES).map((key) => {
    const name = cutText(key, 100);
    budget.left -= name.length + 8;
    return [name, bound((map as { [key: string]: unknown })[key], depth + 1, budget)] as const;
  });
  if (keys.length > MAX_ENTRIES) kept.push(['…', `${keys.length - MAX_ENTRIES} more`]);
  return Object.fromEntries(kept);
}

/** stderr of the agent, line by line and bounded. It is for people: never parsed, never progress. */
const MAX_LINE = 4_000;
const MAX_TAIL = 500;

export class StderrLines {
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';
  #tail = '';

  constructor(
    stream: Readable,
    scheduler: FairScheduler,
    private readonly onLine: (line: string) => void,
  ) {
    readFairly(stream, scheduler, {
      onChunk: (chunk) => {
        this.#take(this.#decoder.write(chunk));
        return undefined;
      },
      onEnd: () => this.#take(`${this.#decoder.end()}\n`),
    });
  }

  lastWords(): string {
    return `${this.#tail} ${this.#rest}`.trim().slice(-MAX_TAIL);
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split(/\r?\n/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#give(line);
    if (this.#rest.length > MAX_LINE) {
      this.#give(this.#rest);
      this.#rest = '';
    }
  }

  #give(line: string): void {
    if (line.trim() === '') return;
    this.#tail = `${this.#tail} ${line.slice(-MAX_TAIL)}`.slice(-MAX_TAIL);
    this.onLine(cutText(line, MAX_LINE));
  }
}
