import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { BoundedMap } from '../../../src/domain/bounded-map.js';
import type { JsonObject } from '../../../src/domain/json.js';
import type { StepContext } from '../executor.js';
import type { ExecutionEnd } from './execution-end.js';

const MAX_ENDED = 256;

type ExecutionStatus = 'starting' | 'running' | 'stopping' | ExecutionEnd['state'];

type CapabilityEvent = 'capabilityStarted' | 'capabilityCompleted' | 'capabilityFailed' | 'capabilityTimeout';

interface ExecutionFacts {
  /** `cap_…`, or `side_…` for an executor without a capability. */
  readonly id: string;
  readonly sideExecutionId: string;
  /** `null`: without a capability. */
  readonly type: string | null;
  readonly name: string;
  readonly executor: string;
  /** The execution that started it. */
  readonly parentId: string | null;
  readonly depth: number;
}

interface Execution extends ExecutionFacts {
  readonly runId: string;
  readonly startedAtMs: number;
  status: ExecutionStatus;
}

/**
 * The executions of a daemon. An execution is `starting`, `running` and perhaps `stopping` while it is active; then it has the state of
 * its end and is kept among the last `MAX_ENDED`. Each start and end is written to the transcript and emitted.
 */
export class ExecutionRegistry {
  /** Listeners get the same data as the transcript. They must not throw. */
  readonly events = new EventEmitter<{ [event in CapabilityEvent]: [JsonObject] }>();
  readonly #active = new Map<string, Execution>();
  readonly #ended = new BoundedMap<string, Execution>(MAX_ENDED);
  readonly #totals = { completed: 0, failed: 0, timeout: 0, stopped: 0 };

  begin(facts: ExecutionFacts, context: StepContext): void {
    const startedAtMs = context.clock.now().wallMs;
    const execution: Execution = { ...facts, runId: context.runId, startedAtMs, status: 'starting' };
    this.#active.set(facts.id, execution);
    this.#report('capabilityStarted', execution, context, {});
  }

  changeStatus(id: string, status: 'running' | 'stopping'): void {
    const execution = this.#active.get(id);
    if (execution) execution.status = status;
  }

  end(id: string, end: ExecutionEnd, context: StepContext): void {
    const execution = this.#active.get(id);
    if (!execution) return;
    execution.status = end.state;
    this.#totals[end.state] += 1;
    this.#active.delete(id);
    this.#ended.set(id, execution);
    const error = end.state === 'completed' ? {} : { code: end.code, error: end.message };
    this.#report(eventOf(end), execution, context, error);
  }

  /** Returns `null` for an unknown execution, or one that ended too long ago. */
  find(id: string): JsonObject | null {
    const execution = this.#active.get(id) ?? this.#ended.get(id);
    return execution ? toJson(execution) : null;
  }

  active(): JsonObject[] {
    return [...this.#active.values()].map(toJson);
  }

  stats(): JsonObject {
    return { active: this.active(), totals: { ...this.#totals } };
  }

  #report(event: CapabilityEvent, execution: Execution, context: StepContext, error: JsonObject): void {
    const data = { event, ...toJson(execution), ...error };
    context.audit('capability_event', data);
    this.events.emit(event, data);
  }
}

/** `cap_<timestamp>_<uuid8>` for capabilities, `side_…` for the process behind them. */
export function newExecutionId(kind: 'cap' | 'side', wallMs: number): string {
  return `${kind}_${Math.floor(wallMs)}_${randomUUID().slice(0, 8)}`;
}

function eventOf({ state }: ExecutionEnd): CapabilityEvent {
  if (state === 'completed') return 'capabilityCompleted';
  return state === 'timeout' ? 'capabilityTimeout' : 'capabilityFailed';
}

function toJson(execution: Execution): JsonObject {
  return {
    execution_id: execution.id,
    side_execution_id: execution.sideExecutionId,
    type: execution.type,
    name: execution.name,
    executor: execution.executor,
    status: execution.status,
    started_at: new Date(execution.startedAtMs).toISOString(),
    run_id: execution.runId,
    parent_id: execution.parentId,
    depth: execution.depth,
  };
}
