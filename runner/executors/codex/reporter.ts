import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { stripVTControlCharacters } from 'node:util';
import { type Fields, fieldsOf, type Json, type JsonObject } from '../../../src/domain/json.js';
import type { RunSignal, RuntimeEvent, RuntimeEventType, TokenTotals } from '../../../src/domain/run-signal.js';
import type { StepContext } from '../executor.js';
import { type FairScheduler, readFairly } from '../read-lines.js';
import { Deltas, MAX_DELTA } from './deltas.js';
import { isDelta, NOTICES } from './protocol.js';
import { UsageSignals } from './usage.js';

/**
 * Reports the events of a run to the core, each with its time, process and session. Deltas of an item are joined, and reported before
 * anything that follows them, except progress and token counts. After `end` nothing is reported.
 */
export class Reporter {
  pid: number | null = null;
  threadId: string | null = null;
  turnId: string | null = null;
  readonly #deltas: Deltas;
  readonly #usage: UsageSignals;
  #ended = false;

  constructor(private readonly context: Pick<StepContext, 'emit' | 'clock' | 'workspace'>) {
    this.#deltas = new Deltas(context.clock, (method, data) => this.#event('notification', { method, data }));
    this.#usage = new UsageSignals(context.clock, (threadId, totals) =>
      this.#emit({ type: 'usage', threadId, totals }),
    );
  }

  get sessionId(): string | null {
    return this.threadId !== null && this.turnId !== null ? `${this.threadId}-${this.turnId}` : null;
  }

  event(type: RuntimeEventType, extra: EventExtra = {}): void {
    this.#deltas.flush();
    this.#event(type, extra);
  }

  /** Returns true when the delta was joined to an earlier one. */
  delta(method: string, params: Fields): boolean {
    return !this.#ended && this.#deltas.add(method, params);
  }

  #event(type: RuntimeEventType, extra: EventExtra): void {
    const { data, ...rest } = extra;
    this.#emit({
      type: 'event',
      event: {
        type,
        timestamp: new Date(this.context.clock.now().wallMs).toISOString(),
        pid: this.pid,
        ...this.#session(),
        ...rest,
        ...(namesFiles(data) ? { workspace: this.context.workspace } : {}),
        ...(data === undefined ? {} : { data: boundData(data, limitsOf(rest.method)) }),
      },
    });
  }

  /** A warning by Baton itself, not a message of the agent. */
  warning(warning: string, data: object = {}): void {
    this.event('other_message', { data: { warning, ...data } });
  }

  signal(signal: RunSignal): void {
    if (signal.type !== 'progress') this.#flush();
    this.#emit(signal);
  }

  usage(threadId: string, totals: TokenTotals): void {
    this.#usage.add(threadId, totals);
  }

  end(): void {
    this.#deltas.flush();
    this.#usage.end();
    this.#ended = true;
  }

  #flush(): void {
    this.#deltas.flush();
    this.#usage.flush();
  }

  #emit(signal: RunSignal): void {
    if (!this.#ended) this.context.emit(signal);
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
  /** Of any size: the event carries it bounded. */
  readonly data?: unknown;
}

const MAX_TEXT = 2_000;
const MAX_ENTRIES = 40;
const MAX_DEPTH = 6;
const MAX_TOTAL = 16_000;

interface Limits {
  readonly text: number;
  readonly total: number;
}

const USUAL: Limits = { text: MAX_TEXT, total: MAX_TOTAL };
/** For the diff of a turn, which people want to see whole. */
const DIFF: Limits = { text: 100_000, total: 110_000 };
const DELTA: Limits = { text: MAX_DELTA, total: MAX_TOTAL };

function limitsOf(method = ''): Limits {
  return method === NOTICES.diff ? DIFF : isDelta(method) ? DELTA : USUAL;
}

/**
 * Cuts data of an agent to a size for logs and pages: text, lists, maps, depth and the total are bounded. A member that was cut ends in
 * a mark for people and has `<name>_omitted` beside it, with the number of characters or entries left out.
 */
export function boundData(value: unknown, max = USUAL): JsonObject {
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
      const text = cutText(value, textLimit(budget));
      budget.left -= text.length;
      return text;
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

function textLimit({ left, text }: Budget): number {
  return Math.max(0, Math.min(text, left));
}

function boundList(list: readonly unknown[], depth: number, budget: Budget): Json {
  const entries = list.slice(0, MAX_ENTRIES).map((entry) => bound(entry, depth + 1, budget));
  return list.length > MAX_ENTRIES ? [...entries, `… (${list.length - MAX_ENTRIES} more)`] : entries;
}

// `fromEntries` defines own properties: a `__proto__` key stays a key.
function boundMap(map: object, depth: number, budget: Budget): Json {
  const keys = Object.keys(map);
  const members = keys.slice(0, MAX_ENTRIES).flatMap((key): [string, Json][] => {
    const name = cutText(key, 100);
    budget.left -= name.length + 8;
    const value = (map as { [key: string]: unknown })[key];
    const omitted = omittedFrom(value, budget);
    const member: [string, Json] = [name, bound(value, depth + 1, budget)];
    return omitted === 0 ? [member] : [member, [`${name}_omitted`, omitted]];
  });
  if (keys.length > MAX_ENTRIES) members.push(['…', `${keys.length - MAX_ENTRIES} more`]);
  return Object.fromEntries(members);
}

/** How many characters or entries `bound` leaves out of this value itself. */
function omittedFrom(value: unknown, budget: Budget): number {
  if (typeof value === 'string') return Math.max(0, value.length - textLimit(budget));
  return Array.isArray(value) ? Math.max(0, value.length - MAX_ENTRIES) : 0;
}

const MAX_LINE = 4_000;
const MAX_TAIL = 500;

/** The stderr of the agent as bounded lines, without colours. It is for people: it is never parsed and never counts as progress. */
export class StderrLines {
  readonly #decoder = new StringDecoder('utf8');
  #partial = '';
  #tail = '';

  constructor(
    stream: Readable,
    scheduler: FairScheduler,
    private readonly onLine: (line: string) => void,
  ) {
    readFairly(stream, scheduler, {
      onChunk: (chunk) => {
        this.#push(this.#decoder.write(chunk));
        return undefined;
      },
      onEnd: () => this.#push(`${this.#decoder.end()}\n`),
    });
  }

  tail(): string {
    return stripVTControlCharacters(`${this.#tail} ${this.#partial}`).trim().slice(-MAX_TAIL);
  }

  #push(text: string): void {
    const lines = (this.#partial + text).split(/\r?\n/);
    this.#partial = lines.pop() ?? '';
    for (const line of lines) this.#emit(line);
    if (this.#partial.length > MAX_LINE) {
      this.#emit(this.#partial);
      this.#partial = '';
    }
  }

  #emit(coloured: string): void {
    const line = stripVTControlCharacters(coloured);
    if (line.trim() === '') return;
    this.#tail = `${this.#tail} ${line.slice(-MAX_TAIL)}`.slice(-MAX_TAIL);
    this.onLine(cutText(line, MAX_LINE));
  }
}
