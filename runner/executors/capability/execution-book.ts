import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { JsonObject } from '../../../src/domain/json.js';
import type { StepContext } from '../executor.js';
import type { SideEnd } from './side-end.js';

/** Which executions there are, and how the last ones ended. */
const MAX_REMEMBERED = 256;

export type ExecutionStatus = 'starting' | 'running' | 'stopping' | SideEnd['state'];

export const CAPABILITY_EVENTS = [
  'capabilityStarted',
  'capabilityCompleted',
  'capabilityFailed',
  'capabilityTimeout',
] as const;
export type CapabilityEvent = (typeof CAPABILITY_EVENTS)[number];

export interface ExecutionFacts {
  /** `cap_…`, or `side_…` for one without a capability. */
  readonly id: string;
  readonly sideExecutionId: string;
  /** `null`: without a capability. */
  readonly type: string | null;
  readonly name: string;
  readonly executor: string;
  /** Of the execution that started it. */
  readonly parentId: string | null;
  readonly depth: number;
}

interface Entry extends ExecutionFacts {
  readonly runId: string;
  readonly startedAtMs: number;
  status: ExecutionStatus;
}

export class ExecutionBook {
  /** Listeners get what the transcript gets, and must not throw. */
  readonly events = new EventEmitter<{ [event in CapabilityEvent]: [JsonObject] }>();
  readonly #active = new Map<string, Entry>();
  readonly #past = new Map<string, Entry>();
  readonly #totals = { completed: 0, failed: 0, timeout: 0, stopped: 0 };

  begin(facts: ExecutionFacts, context: StepContext): void {
    const startedAtMs = context.clock.now().wallMs;
    const entry: Entry = { ...facts, runId: context.runId, startedAtMs, status: 'starting' };
    this.#active.set(facts.id, entry);
    this.#tell('capabilityStarted', entry, context, {});
  }

  changed(id: string, status: 'running' | 'stopping'): void {
    const entry = this.#active.get(id);
    if (entry) entry.status = status;
  }

  end(id: string, end: SideEnd, context: StepContext): void {
    const entry = this.#active.get(id);
    if (!entry) return;
    entry.status = end.state;
    this.#totals[end.state] += 1;
    this.#active.delete(id);
    this.#past.set(id, entry);
    const [oldest] = this.#past.keys();
    if (this.#past.size > MAX_REMEMBERED && oldest !== undefined) this.#past.delete(oldest);
    this.#tell(eventOf(end), entry, context, end.state === 'completed' ? {} : { code: end.code, error: end.message });
  }

  /** `null`: unknown, or too long ago. */
  find(id: string): JsonObject | null {
    const entry = this.#active.get(id) ?? this.#past.get(id);
    return entry ? described(entry) : null;
  }

  active(): JsonObject[] {
    return [...this.#active.values()].map(described);
  }

  stats(): JsonObject {
    return { active: this.active(), totals: { ...this.#totals } };
  }

  #tell(event: CapabilityEvent, entry: Entry, context: StepContext, more: JsonObject): void {
    const data = { event, ...described(entry), ...more };
    context.audit('capability_event', data);
    this.events.emit(event, data);
  }
}

/** `cap_<timestamp>_<uuid8>` for capabilities, `side_…` for the process behind them. */
export function executionId(kind: 'cap' | 'side', wallMs: number): string {
  return `${kind}_${Math.floor(wallMs)}_${randomUUID().slice(0, 8)}`;
}

function eventOf({ state }: SideEnd): CapabilityEvent {
  if (state === 'completed') return 'capabilityCompleted';
  return state === 'timeout' ? 'capabilityTimeout' : 'capabilityFailed';
}

function described(entry: Entry): JsonObject {
  return {
    execution_id: entry.id,
    side_execution_id: entry.sideExecutionId,
    type: entry.type,
    name: entry.name,
    executor: entry.executor,
    status: entry.status,
    started_at: new Date(entry.startedAtMs).toISOString(),
    run_id: entry.runId,
    parent_id: entry.parentId,
    depth: entry.depth,
  };
}
