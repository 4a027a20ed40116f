import type { State } from '../../orchestrator/state.js';
import type { FinishedIssue } from '../domain/finished.js';
import { nearestWord } from '../text/nearest-word.js';
import { includesState } from '../domain/standing.js';
import { type ActionRefusal, refuse } from './action-result.js';
import { knownIssues } from './find-issue.js';
import { isoTime } from '../text/iso-time.js';

/** About an issue that is neither claimed nor a candidate nothing can be asked for: it has left, or was never there. */
export function refuseUnknown(state: State, name: string): ActionRefusal {
  const done = finishedAs(state, name);
  if (done) {
    const since = `${done.identifier} is "${done.state}" since ${isoTime(done.atMs)}, and not worked on any more`;
    return refuse('not_active', `${since}. Move it to ${openStates(state)} in the tracker, and it is.`);
  }
  const near = nearestWord(
    name,
    knownIssues(state).map(({ issue }) => issue.identifier),
  );
  const meant = near === null ? '' : ` Did you mean ${near}?`;
  const message = `No issue ${name} is claimed or among the candidates of the last poll.${meant}`;
  return { status: 404, code: 'issue_not_found', message };
}

/** As `findIssue` finds them. */
function finishedAs({ finished }: State, name: string): FinishedIssue | undefined {
  const wanted = name.toLowerCase();
  return (
    finished.findLast((one) => one.identifier === name || one.issueId === name) ??
    finished.findLast((one) => one.identifier.toLowerCase() === wanted)
  );
}

function openStates({ config }: State): string {
  const { activeStates, terminalStates } = config.tracker;
  const open = activeStates.filter((one) => !includesState(terminalStates, one));
  return open.map((one) => `"${one}"`).join(' or ');
}
