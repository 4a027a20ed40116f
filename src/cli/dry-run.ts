import { failedRules } from '../../orchestrator/eligibility.js';
import type { State } from '../../orchestrator/state.js';
import { lineUp, obstacleToAll } from '../api/why-idle.js';
import type { Instant } from '../domain/clock.js';
import type { Issue } from '../domain/issue.js';
import type { FailedRule } from '../domain/reasons.js';
import { localiseTimes } from '../text/format-time.js';
import { neutralise } from '../text/neutralise.js';
import { ruleWhy, startObstacle } from '../text/rules.js';
import type { Io } from './io.js';
import { openWorkflow } from './open-workflow.js';
import { simulatePoll } from './simulate-poll.js';

export interface DryRunOptions {
  readonly workflowPath: string;
  readonly stateDir: string | undefined;
  readonly backend?: string | undefined;
  readonly allowChanges?: boolean | undefined;
}

/** Polls once and prints what would start. Creates no folder, stores nothing, starts nothing. */
export async function dryRun(options: DryRunOptions, io: Io): Promise<number> {
  const opened = await openWorkflow(options.workflowPath, options.stateDir, io, options);
  return simulatePoll(opened, io, ({ state, now, redactor }) => {
    io.stdout.write(redactor.mask(describe(state, now)));
    return obstacleToAll(state, now) === null ? 0 : 1;
  });
}

function describe(state: State, now: Instant): string {
  const { agent, tracker } = state.config;
  const obstacle = obstacleToAll(state, now);
  const line = lineUp(state, now);
  const starts = line.filter(({ why }) => why === null).map(({ ready }, i) => `${i + 1}. ${nameOf(ready.issue)}`);
  const say = (why: FailedRule) => neutralise(localiseTimes(startObstacle(why), now.wallMs));
  // An obstacle to all issues is printed once, on top.
  const behind = (why: FailedRule) => (why.rule === obstacle?.rule ? '' : `: ${say(why)}`);
  const later = line.flatMap(({ ready, why }) => (why === null ? [] : [`${nameOf(ready.issue)}${behind(why)}`]));
  const paragraphs = [
    obstacle === null ? '' : `Nothing would start: ${say(obstacle)}.`,
    list(`Would start now, ${agent.maxConcurrentAgents} at a time:`, starts),
    list('Would start later:', [...later, ...waiting(state, now)]),
    list('Would not start:', refused(state)),
    list('Could not be read:', state.poll.problems.map(neutralise)),
  ].filter((text) => text !== '');
  const states = tracker.activeStates.map((one) => `"${one}"`).join(' or ');
  if (paragraphs.length === 0) paragraphs.push(`Nothing would start: no issue is in state ${neutralise(states)}.`);
  return `${paragraphs.join('\n\n')}\n`;
}

/** Issues with a scheduled retry of an earlier daemon. */
function waiting(state: State, now: Instant): string[] {
  return Object.values(state.claims).flatMap(({ issue, status }) => {
    if (status.kind !== 'waiting' || status.dueAtMs <= now.wallMs) return [];
    return [`${nameOf(issue)}: its next run is due in ${Math.ceil((status.dueAtMs - now.wallMs) / 1000)} s`];
  });
}

function refused(state: State): string[] {
  const parked = Object.values(state.claims).flatMap(({ issue, status }) =>
    status.kind === 'parked' ? [`${nameOf(issue)}: parked as ${status.reason}, ${neutralise(status.message)}`] : [],
  );
  const ineligible = Object.values(state.candidates).flatMap((issue) => {
    const reasons = failedRules(issue, state).map(ruleWhy);
    return reasons.length === 0 ? [] : [`${nameOf(issue)}: ${neutralise(reasons.join('; '))}`];
  });
  return [...parked, ...ineligible];
}

function list(head: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : [head, ...lines.map((text) => `  ${text}`)].join('\n');
}

function nameOf({ identifier, title }: Issue): string {
  return neutralise(`${identifier}  ${title}`);
}
