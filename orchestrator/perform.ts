import { type Clock, LIST_LIMIT_MS, withinLimit } from '../src/domain/clock.js';
import type { DurableChange } from '../src/domain/durable.js';
import type { Effect } from '../src/domain/effects.js';
import { BatonError, toBatonError } from '../src/domain/errors.js';
import type { Dispatch, Observation, ReadResult } from '../src/domain/events.js';
import { assertNever } from '../src/domain/json.js';
import type { Note } from '../src/domain/note.js';
import type { IssueBatch, RemovalReport, Runner, Store, Tracker } from '../src/domain/ports.js';
import type { Workflow } from '../src/domain/workflow.js';

/** A tracker that does not answer within this time counts as down, so the next poll does not wait for it. */
const READ_TIMEOUT_MS = 60_000;

export interface PerformPorts {
  readonly clock: Clock;
  readonly tracker: Pick<Tracker, 'issuesByStates' | 'issuesByIds'>;
  readonly store: Store;
  readonly runner: Runner;
  /** The workflow with this hash, kept while a run needs it, or the current workflow without a hash. */
  workflow(hash?: string): Workflow;
  /** Checks whether WORKFLOW.md changed, in case the watcher missed it. */
  checkWorkflow(): Promise<void>;
  log(note: Note): void;
  exit(forced: boolean): void;
  /** Closes the daemon and opens it again. */
  reopen(): void;
}

type Persist = Extract<Effect, { type: 'persist' }>;

/** Turns each effect into a call of a port. Answers come back through `dispatch`. It decides nothing. */
export function createPerform(ports: PerformPorts, dispatch: Dispatch): (effect: Effect) => void {
  let unwritten: Persist[] = [];
  let isWriting = false;
  let failure: BatonError | null = null;

  const poll = async ({ seq, ids, states }: Extract<Effect, { type: 'poll' }>) => {
    await ports.checkWorkflow();
    const [refresh, candidates, freeDiskMb] = await Promise.all([
      readByIds(ports, ids),
      read(ports.clock, LIST_LIMIT_MS, (signal) => ports.tracker.issuesByStates(states, signal)),
      freeDisk(ports),
    ]);
    return { seq, asked: ids, refresh, candidates, freeDiskMb };
  };

  /** What is ordered in one turn of the event loop, or during a write, is one write. A later change is never stored before or without an earlier one. */
  const persist = (effect: Persist) => {
    unwritten.push(effect);
    writeSoon();
  };

  const writeSoon = () => {
    if (isWriting || unwritten.length === 0) return;
    isWriting = true;
    setImmediate(async () => {
      const group = unwritten;
      unwritten = [];
      await write(group.map(({ change }) => change));
      isWriting = false;
      const message = failure?.message ?? null;
      for (const { seq } of group)
        dispatch(message === null ? { type: 'persisted', seq } : { type: 'persist_failed', seq, message });
      writeSoon();
    });
  };

  /** After a failed write only a change of the whole state may be written. */
  const write = async (changes: readonly DurableChange[]) => {
    if (failure && !changes.some(({ full }) => full)) return;
    try {
      await ports.store.write(...changes);
      failure = null;
    } catch (error) {
      failure = toBatonError(error, 'store_failed');
    }
  };

  return (effect) => {
    switch (effect.type) {
      case 'poll':
        return void poll(effect)
          .catch((error) => failedPoll(effect, error))
          .then((observation) => dispatch({ type: 'observed', observation }));
      case 'read_issues':
        return void readByIds(ports, effect.ids).then((result) =>
          dispatch({ type: 'issues_read', seq: effect.seq, asked: effect.ids, result }),
        );
      case 'persist':
        return persist(effect);
      case 'start_run':
        return ports.runner.start(effect.order, ports.workflow(effect.order.workflowHash));
      case 'close_run':
        return ports.runner.close(effect.order, ports.workflow(effect.order.workflowHash));
      case 'stop_run':
        return ports.runner.stop(effect.runId, effect.reason);
      case 'answer_run':
        return ports.runner.answer(effect.runId, effect.questionId, effect.answer);
      case 'steer_run':
        return ports.runner.steer(effect.runId, effect.text);
      case 'remove_workspace':
        return void ports.runner
          .removeWorkspace(effect.issue, ports.workflow())
          .catch((error): RemovalReport => ({ ok: false, message: toBatonError(error).message }))
          .then((report) => dispatch({ type: 'workspace_removed', issueId: effect.issue.id, report }));
      case 'note':
        return ports.log(effect.note);
      case 'exit':
        return ports.exit(effect.forced);
      case 'reopen':
        return ports.reopen();
      default:
        return assertNever(effect);
    }
  };
}

/** Every error becomes an answer, because an unanswered poll would be the last one. */
function failedPoll({ seq, ids }: Extract<Effect, { type: 'poll' }>, error: unknown): Observation {
  const result = failedRead(error);
  return { seq, asked: ids, refresh: result, candidates: result, freeDiskMb: null };
}

async function readByIds({ clock, tracker }: PerformPorts, ids: readonly string[]): Promise<ReadResult> {
  if (ids.length === 0) return { ok: true, issues: [], unknown: [] };
  return read(clock, READ_TIMEOUT_MS, (signal) => tracker.issuesByIds(ids, signal));
}

/** A disk that hangs must not stop polling. */
function freeDisk({ clock, runner, workflow }: PerformPorts): Promise<number | null> {
  const late = () => new BatonError('workspace_failed', 'the disk did not answer');
  return withinLimit(clock, READ_TIMEOUT_MS, () => runner.freeDiskMb(workflow()), late).catch(() => null);
}

/** Never rejects, and never takes longer than the limit. */
async function read(
  clock: Clock,
  limitMs: number,
  ask: (signal: AbortSignal) => Promise<IssueBatch>,
): Promise<ReadResult> {
  const late = () => new BatonError('tracker_request', `the tracker did not answer within ${limitMs / 1000} s`);
  try {
    return { ok: true, ...(await withinLimit(clock, limitMs, ask, late)) };
  } catch (error) {
    return failedRead(error);
  }
}

function failedRead(error: unknown): ReadResult {
  const { code, message, details } = toBatonError(error, 'tracker_request');
  const resetAtMs = details.resetAtMs;
  return { ok: false, code, message, ...(typeof resetAtMs === 'number' ? { resetAtMs } : {}) };
}
