import type { StateView } from '../../api/schemas.js';

/** Equal for two states that a person would call the same: counters and times that only run on are left out. */
export function changeKey(view: StateView): string {
  const { running, asking, retrying, parked, ready, ineligible, done, holds, paused, shutting_down, workflow, poll } =
    view;
  return JSON.stringify([
    running.map((run) => [run.run_id, run.phase, run.step, run.asking, run.stopping, run.turn_count, run.last_message]),
    asking.map(({ run_id, questions }) => [run_id, questions.map(({ id }) => id)]),
    retrying.map(({ issue_id, due_at, error }) => [issue_id, due_at, error]),
    parked.map(({ issue_id, reason, since }) => [issue_id, reason, since]),
    ready.map(({ issue_id, why }) => [issue_id, why !== null]),
    ineligible.length,
    done.map(({ issue_id, finished_at }) => [issue_id, finished_at]),
    holds.map(({ source, code, tries }) => [source, code, tries]),
    [paused !== null, shutting_down, workflow.error, workflow.restart_required],
    [poll.health, poll.error, poll.problems.length],
    view.daemon.pid,
  ]);
}
