import { type Clock, pause } from '../domain/clock.js';
import type { OutgoingNotice } from './notice.js';

const MAX_QUEUED = 100;
const MAX_REASONS = 100;
const CLOSE_MS = 2_500;
/** An aborted command needs a moment to end its process tree. */
const GIVE_UP_MS = 1_500;

interface NotifierOptions {
  readonly clock: Clock;
  /** The current targets, read for every notice. */
  targets(): readonly Target[];
  /** `missed`: how many notices before it did not reach this target. */
  encode(notice: OutgoingNotice, missed: number): string;
  /** Called once for each distinct reason, until a delivery succeeds. */
  onFailure(failure: DeliveryFailure): void;
  onRecovered(target: Target['name'], missed: number): void;
}

export interface DeliveryFailure {
  readonly target: Target['name'];
  readonly code: string;
  readonly detail: string;
  readonly tries: number;
  /** How many in a row were not delivered, including this one. */
  readonly missed: number;
}

export interface Notifier {
  /** Returns at once. */
  send(notice: OutgoingNotice): void;
  /** Waits a few seconds for open deliveries, unless it is in a hurry, then aborts them. */
  close(isHurried?: boolean): Promise<void>;
}

/**
 * One queue for each target, so that a slow receiver delays only itself. A full queue drops its oldest notice. The number of lost notices is
 * sent with the next one that arrives. Never throws.
 */
export function createNotifier(options: NotifierOptions): Notifier {
  const queues = new Map<Target['name'], TargetQueue>();
  const givenUp = new AbortController();
  let isClosed = false;
  return {
    send(notice) {
      if (isClosed) return;
      for (const { name } of options.targets()) {
        const queue = queues.get(name) ?? new TargetQueue(name, options, givenUp.signal);
        queues.set(name, queue);
        queue.add(notice);
      }
    },
    async close(isHurried = false) {
      isClosed = true;
      const idle = Promise.all([...queues.values()].map((queue) => queue.idle));
      if (!isHurried) await within(CLOSE_MS, options.clock, idle);
      givenUp.abort();
      await within(GIVE_UP_MS, options.clock, idle);
    },
  };
}

class TargetQueue {
  readonly #waiting: OutgoingNotice[] = [];
  readonly #reasons = new Set<string>();
  #missed = 0;
  /** Settles when the queue is empty. Never rejects. */
  idle: Promise<void> = Promise.resolve();
  #isWorking = false;

  constructor(
    readonly name: Target['name'],
    readonly options: NotifierOptions,
    readonly signal: AbortSignal,
  ) {}

  add(notice: OutgoingNotice): void {
    this.#waiting.push(notice);
    if (this.#waiting.length > MAX_QUEUED) {
      this.#waiting.shift();
      this.#missed += 1;
      this.#reportFailure('queue_full', `over ${MAX_QUEUED} notices were waiting: the oldest are dropped`, 0);
    }
    if (!this.#isWorking) this.idle = this.#work();
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    for (let notice = this.#waiting.shift(); notice && !this.signal.aborted; notice = this.#waiting.shift()) {
      await this.#deliver(notice).catch((error: unknown) => {
        this.#missed += 1;
        this.#reportFailure('internal_error', String(error), 0);
      });
    }
    this.#isWorking = false;
  }

  async #deliver(notice: OutgoingNotice): Promise<void> {
    const { clock, targets, encode } = this.options;
    // The settings may have changed since: a target that is gone gets nothing.
    const target = targets().find(({ name }) => name === this.name);
    if (target === undefined) return;
    const missed = this.#missed;
    const { result, tries } = await tryDelivery(target, encode(notice, missed), clock, this.signal);
    if (result.ok) {
      if (missed > 0) this.options.onRecovered(this.name, missed);
      // Notices that were dropped meanwhile are counted in the next one.
      this.#missed -= missed;
      this.#reasons.clear();
      return;
    }
    this.#missed += 1;
    this.#reportFailure(result.code, result.detail, tries);
  }

  #reportFailure(code: string, detail: string, tries: number): void {
    if (this.#reasons.has(code) || this.#reasons.size >= MAX_REASONS) return;
    this.#reasons.add(code);
    this.options.onFailure({ target: this.name, code, detail, tries, missed: this.#missed });
  }
}

function within(ms: number, clock: Clock, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, resolve);
    void work.then(() => {
      cancel();
      resolve();
    });
  });
}

const TRY_LIMIT_MS = 10_000;
/** Before the second and the third try. */
const BACKOFF_MS = [1_000, 5_000] as const;
const MAX_RETRY_AFTER_MS = 60_000;

export interface Delivery {
  readonly result: SendResult;
  readonly tries: number;
  readonly tookMs: number;
}

/** Makes up to three tries, each with a time limit. Stops when the signal is aborted or a failure is final. Never rejects. */
export async function tryDelivery(target: Target, body: string, clock: Clock, signal: AbortSignal): Promise<Delivery> {
  const startedAtMs = clock.now().awakeMs;
  for (let tries = 1; ; tries += 1) {
    const result = await oneTry(target, body, clock, signal);
    const backoffMs = BACKOFF_MS[tries - 1];
    const isLast = result.ok || result.isFinal || backoffMs === undefined || signal.aborted;
    if (isLast) return { result, tries, tookMs: clock.now().awakeMs - startedAtMs };
    await pause(clock, Math.max(backoffMs, Math.min(result.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)), signal);
    if (signal.aborted) return { result, tries, tookMs: clock.now().awakeMs - startedAtMs };
  }
}

async function oneTry(target: Target, body: string, clock: Clock, outer: AbortSignal): Promise<SendResult> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  let isLate = false;
  const cancel = clock.after(TRY_LIMIT_MS, () => {
    isLate = true;
    abort();
  });
  outer.addEventListener('abort', abort, { once: true });
  if (outer.aborted) abort();
  try {
    const result = await target.send(body, controller.signal);
    const late = notSent('timeout', `there was no answer within ${TRY_LIMIT_MS / 1000} s`);
    return isLate && !result.ok ? late : result;
  } catch (error) {
    return notSent('internal_error', error instanceof Error ? error.message : String(error));
  } finally {
    cancel();
    outer.removeEventListener('abort', abort);
  }
}

/** The result of one try. `code` and `detail` never hold the address: anyone with the address of a webhook can write into its channel. */
export type SendResult =
  | { readonly ok: true; readonly detail: string }
  | {
      readonly ok: false;
      /** For logs, such as `http_500`, `ECONNREFUSED`, `exit_3`, `timeout`. */
      readonly code: string;
      readonly detail: string;
      /** Another try would fail too. */
      readonly isFinal: boolean;
      /** The delay that the receiver asks for. */
      readonly retryAfterMs: number | null;
    };

/** A receiver of notices. `send` settles soon after its signal is aborted. */
export interface Target {
  readonly name: 'url' | 'command';
  send(body: string, signal: AbortSignal): Promise<SendResult>;
}

export function notSent(code: string, detail: string, more: { isFinal?: boolean; retryAfterMs?: number | null } = {}) {
  const { isFinal = false, retryAfterMs = null } = more;
  return { ok: false, code, detail, isFinal, retryAfterMs } as const satisfies SendResult;
}
