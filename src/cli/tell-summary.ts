import { isCalled, onceResults, passedOver } from '../../orchestrator/once.js';
import type { OnceResult, State } from '../../orchestrator/state.js';
import type { Instant } from '../domain/clock.js';
import type { Issue } from '../domain/issue.js';
import { nearestWord } from '../text/nearest-word.js';
import { neutralise } from '../text/neutralise.js';
import { failedRules, lineUp, obstacleToAll } from '../api/start-order.js';

/** What came of a daemon that worked everything off once, for the person who started it. */
export function summaryOf(state: State, now: Instant): string {
  const { once } = state;
  if (once === null) return '';
  const results = onceResults(state);
  const lines = [headline(results, once.only), ...results.map(lineOf)];
  const asBefore = { ...state, shutdown: null };
  const obstacle = obstacleToAll(asBefore, now);
  if (obstacle !== null) lines.push(`${results.length === 0 ? 'Why' : 'Nothing more was started'}: ${obstacle}.`);
  const inVain = passedOver(state).map((issue) => whyInVain(issue, asBefore, now, obstacle));
  if (once.only === null) lines.push(...notStarted(state));
  else if (results.length + inVain.length === 0 && obstacle === null) lines.push(whyNotThisOne(once.only, state));
  lines.push(...inVain);
  if (lines.length === 1 && results.length === 0) lines.push(`No issue is in state ${activeStates(state)}.`);
  lines.push(...state.poll.problems.map((problem) => `Could not be read: ${problem}`));
  return `${lines.map((text) => neutralise(text.replace(/\s*\n\s*/g, ' '))).join('\n')}\n`;
}

function headline(results: readonly OnceResult[], only: string | null): string {
  if (results.length === 0) return only === null ? 'Nothing was started.' : `${only} was not started.`;
  const failed = results.filter(({ ok }) => !ok).length;
  const runs = results.length === 1 ? '1 run' : `${results.length} runs`;
  return failed === 0 ? `${runs}, all well.` : `${runs}, ${failed} failed.`;
}

function lineOf({ identifier, ok, code, message }: OnceResult): string {
  return ok ? `  ✓ ${identifier}` : `  ✗ ${identifier}  ${code}: ${message}`;
}

function notStarted(state: State): string[] {
  const ran = Object.keys(state.once?.results ?? {});
  const parked = Object.entries(state.claims).flatMap(([id, { issue, status }]) =>
    status.kind === 'parked' && !ran.includes(id)
      ? [`  – ${issue.identifier}  not started: parked as ${status.reason}, ${status.message}`]
      : [],
  );
  const ineligible = Object.values(state.candidates).flatMap((issue) => {
    const why = reasonsOf(issue, state);
    return why === '' ? [] : [`  – ${issue.identifier}  not started: ${why}`];
  });
  return [...parked, ...ineligible];
}

/** It could have been started, and was not. */
function whyInVain({ id, identifier }: Issue, state: State, now: Instant, obstacle: string | null): string {
  const place = lineUp(state, now).find(({ ready }) => ready.issue.id === id);
  const why = place
    ? (place.why ?? 'Baton was told to stop before its turn')
    : 'the tracker could not tell how it stands';
  return `  – ${identifier}  not started: ${obstacle === null ? why : 'see above'}`;
}

function whyNotThisOne(name: string, state: State): string {
  const known = [...Object.values(state.candidates), ...Object.values(state.claims).map(({ issue }) => issue)];
  const found = known.find((issue) => isCalled(issue, name));
  if (found) return `${reasonsOf(found, state)}.`;
  const near = nearestWord(
    name,
    known.map(({ identifier }) => identifier),
  );
  return `There is no issue of that name in state ${activeStates(state)}.${near === null ? '' : ` Did you mean ${near}?`}`;
}

function activeStates({ config }: State): string {
  return config.tracker.activeStates.map((one) => `"${one}"`).join(' or ');
}

function reasonsOf(issue: Issue, state: State): string {
  return failedRules(issue, state)
    .map(({ why }) => why)
    .join('; ');
}
