import type { LoggedRun } from '../log-source.js';

export interface RunChoice {
  /** A number or an id, or how an id begins. */
  readonly run?: string | undefined;
  readonly all: boolean;
}

/** The runs that are meant, the oldest first; a string says why there are none. `runs`: the newest first. */
export function chooseRuns(
  runs: readonly LoggedRun[],
  { run, all }: RunChoice,
  issue: string,
): readonly LoggedRun[] | string {
  if (all) return [...runs].reverse();
  if (run === undefined) return runs.slice(0, 1);
  const byNumber = /^\d+$/.test(run) ? runs.filter(({ run_number }) => run_number === Number(run)) : [];
  const exact = byNumber.length > 0 ? byNumber : runs.filter(({ run_id }) => run_id === run);
  // An id may begin with any digit: the number of a run that is not there must not show another one.
  const isNumber = /^\d{1,4}$/.test(run);
  const found = exact.length > 0 || isNumber ? exact : runs.filter(({ run_id }) => run_id.startsWith(run));
  if (found.length === 1) return found;
  if (found.length > 1)
    return `several runs of ${issue} begin with ${run}: ${found.map(({ run_id }) => run_id).join(', ')}`;
  const known = runs.map(({ run_number }) => run_number).reverse();
  return `${issue} has no run ${run}${known.length === 0 ? '' : `; there are ${known.join(', ')}`}`;
}
