import { fieldsOf } from '../../../src/domain/fields.js';
import type { RunSignal } from '../../../src/domain/run-signal.js';
import type { RuntimeEvent, RuntimeEventType, TokenTotals } from '../../../src/domain/runtime-event.js';
import type { StepContext } from '../executor.js';
import { boundData, WIDE } from './bound-data.js';
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
