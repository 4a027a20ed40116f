import { type Clock, pause } from '../domain/clock.js';
import type { Told } from './notice.js';

const MAX_QUEUED = 100;
const MAX_REASONS = 100;
const CLOSE_MS = 2_500;
/** What is given up needs a moment to end: a command has a process tree. */
const GIVE_UP_MS = 1_500;

interface NotifierOptions {
  readonly clock: Clock;
  /** Those in force now; asked for every notice. */
  targets(): readonly Target[];
  /** `missed`: so many before it did not reach this target. */
  encode(told: Told, missed: number): string;
  /** Once for each distinct reason, until something gets through again. */
  onFailure(failure: DeliveryFailure): void;
  onRecovered(target: Target['name'], missed: number): void;
}

export interface DeliveryFailure {
  readonly target: Target['name'];
  readonly code: string;
  readonly detail: string;
  readonly tries: number;
  /** So many in a row were not delivered, this one included. */
  readonly missed: number;
}

export interface Notifier {
  /** Returns at once. */
  tell(told: Told): void;
  /** Waits a little for what is under way, unless it is in a hurry, then gives it up. Nothing of it is alive afterwards. */
  close(isHurried?: boolean): Promise<void>;
}

/**
 * One queue for each target, worked off one by one, so that a slow receiver holds up nothing but itself. A full queue loses its oldest. What
 * was lost is counted, and told with the next notice that gets through. Never throws.
 */
export function createNotifier(options: NotifierOptions): Notifier {
  const queues = new Map<Target['name'], TargetQueue>();
  const givenUp = new AbortController();
  let isClosed = false;
  return {
    tell(told) {
      if (isClosed) return;
      for (const { name } of options.targets()) {
        const queue = queues.get(name) ?? new TargetQueue(name, options, givenUp.signal);
        queues.set(name, queue);
        queue.add(told);
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
  readonly #waiting: Told[] = [];
  readonly #reasons = new Set<string>();
  #missed = 0;
  /** Settles when there is nothing left to do. Never rejects. */
  idle: Promise<void> = Promise.resolve();
  #isWorking = false;

  constructor(
    readonly name: Target['name'],
    readonly options: NotifierOptions,
    readonly signal: AbortSignal,
  ) {}

  add(told: Told): void {
    this.#waiting.push(told);
    if (this.#waiting.length > MAX_QUEUED) {
      this.#waiting.shift();
      this.#missed += 1;
      this.#complain('queue_full', `over ${MAX_QUEUED} notices were waiting: the oldest are dropped`, 0);
    }
    if (!this.#isWorking) this.idle = this.#work();
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    for (let told = this.#waiting.shift(); told && !this.signal.aborted; told = this.#waiting.shift()) {
      await this.#deliver(told).catch((error: unknown) => {
        this.#missed += 1;
        this.#complain('internal_error', String(error), 0);
      });
    }
    this.#isWorking = false;
  }

  async #deliver(told: Told): Promise<void> {
    const { clock, targets, encode } = this.options;
    // It may have changed since, or be gone: then nobody waits for this any more.
    const target = targets().find(({ name }) => name === this.name);
    if (target === undefined) return;
    const missed = this.#missed;
    const { sent, tries } = await tryDelivery(target, encode(told, missed), clock, this.signal);
    if (sent.ok) {
      if (missed > 0) this.options.onRecovered(this.name, missed);
      // More may have been dropped meanwhile: they are for the next one to tell.
      this.#missed -= missed;
      this.#reasons.clear();
      return;
    }
    this.#missed += 1;
    this.#complain(sent.code, sent.detail, tries);
  }

  #complain(code: string, detail: string, tries: number): void {
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
  readonly sent: Sent;
  readonly tries: number;
  readonly tookMs: number;
}

/** Up to three tries, each bounded in time. Ends early when the signal is aborted, and where another try would be in vain. Never rejects. */
export async function tryDelivery(target: Target, body: string, clock: Clock, signal: AbortSignal): Promise<Delivery> {
  const startedAtMs = clock.now().awakeMs;
  for (let tries = 1; ; tries += 1) {
    const sent = await oneTry(target, body, clock, signal);
    const backoffMs = BACKOFF_MS[tries - 1];
    const isLast = sent.ok || sent.isFinal || backoffMs === undefined || signal.aborted;
    if (isLast) return { sent, tries, tookMs: clock.now().awakeMs - startedAtMs };
    await pause(clock, Math.max(backoffMs, Math.min(sent.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)), signal);
    if (signal.aborted) return { sent, tries, tookMs: clock.now().awakeMs - startedAtMs };
  }
}

async function oneTry(target: Target, body: string, clock: Clock, outer: AbortSignal): Promise<Sent> {
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
    const sent = await target.send(body, controller.signal);
    const late = notSent('timeout', `there was no answer within ${TRY_LIMIT_MS / 1000} s`);
    return isLate && !sent.ok ? late : sent;
  } catch (error) {
    return notSent('internal_error', error instanceof Error ? error.message : String(error));
  } finally {
    cancel();
    outer.removeEventListener('abort', abort);
  }
}

/** What came of one try to deliver a notice. `code` and `detail` never hold the address: who has a webhook's can write into its channel. */
export type Sent =
  | { readonly ok: true; readonly detail: string }
  | {
      readonly ok: false;
      /** A short word for logs, such as `http_500`, `ECONNREFUSED`, `exit_3`, `timeout`. */
      readonly code: string;
      readonly detail: string;
      /** It would go no better the next time. */
      readonly isFinal: boolean;
      /** How long the receiver wants to be left alone. */
      readonly retryAfterMs: number | null;
    };

/** Where notices go. `send` settles soon after its signal is aborted. */
export interface Target {
  readonly name: 'url' | 'command';
  send(body: string, signal: AbortSignal): Promise<Sent>;
}

export function notSent(code: string, detail: string, more: { isFinal?: boolean; retryAfterMs?: number | null } = {}) {
  const { isFinal = false, retryAfterMs = null } = more;
  return { ok: false, code, detail, isFinal, retryAfterMs } as const satisfies Sent;
}
