import { randomBytes } from 'node:crypto';
import { afterObservation } from '../../orchestrator/after-observation.js';
import { afterClosing, restore } from '../../orchestrator/restore.js';
import { initialState, type State } from '../../orchestrator/state.js';
import { existingPart, freeDiskMb } from '../../runner/workspace-root.js';
import { createClock } from '../clock.js';
import { openTracker } from '../daemon-tracker.js';
import type { Clock, Instant } from '../domain/clock.js';
import { toBatonError } from '../domain/errors.js';
import type { ReadResult } from '../domain/events.js';
import type { Issue } from '../domain/issue.js';
import { neutralise } from '../domain/neutralise.js';
import type { IssueBatch, Tracker } from '../domain/ports.js';
import { createRedactor } from '../logging/redact.js';
import { failedRules, lineUp, obstacleToAll } from '../status/start-order.js';
import type { Io } from './io.js';
import { type OpenedWorkflow, openWorkflow } from './open-workflow.js';

export interface DryRunOptions {
  readonly workflowPath: string;
  readonly stateDir: string | undefined;
  readonly backend?: string | undefined;
}

const READ_LIMIT_MS = 60_000;

/** Polls once and tells what would come of it. Makes no folder, stores nothing, starts nothing. */
export async function dryRun(options: DryRunOptions, io: Io): Promise<number> {
  const opened = await openWorkflow(options.workflowPath, options.stateDir, io, { backend: options.backend });
  const redactor = createRedactor();
  const tracker = openTracker({ ...opened, env: io.env, redactor });
  const clock = createClock();
  try {
    const state = await look(opened, tracker, clock);
    const now = clock.now();
    io.stdout.write(redactor.mask(describe(state, now)));
    return obstacleToAll(state, now) === null ? 0 : 1;
  } finally {
    clock.close();
    await tracker.close();
  }
}

async function look(opened: OpenedWorkflow, tracker: Tracker, clock: Clock): Promise<State> {
  const { config, hash } = opened.loaded.workflow;
  const { wallMs } = clock.now();
  const fresh = initialState(config, hash, randomBytes(4).toString('hex'), wallMs);
  const state = afterClosing(restore(fresh, await opened.storedState(), wallMs), clock.now());
  const asked = Object.keys(state.claims);
  const signal = AbortSignal.timeout(READ_LIMIT_MS);
  const [refresh, candidates, freeMb] = await Promise.all([
    asked.length === 0 ? NOTHING : read(() => tracker.issuesByIds(asked, signal)),
    read(() => tracker.issuesByStates(config.tracker.activeStates, signal)),
    // The root may not have been made yet.
    existingPart(config.workspace.root).then(freeDiskMb, () => null),
  ]);
  return afterObservation(state, { seq: 1, asked, refresh, candidates, freeDiskMb: freeMb }, clock.now());
}

const NOTHING: ReadResult = { ok: true, issues: [], unknown: [] };

async function read(ask: () => Promise<IssueBatch>): Promise<ReadResult> {
  try {
    return { ok: true, ...(await ask()) };
  } catch (error) {
    const { code, message } = toBatonError(error, 'tracker_request');
    return { ok: false, code, message };
  }
}

function describe(state: State, now: Instant): string {
  const { agent, tracker } = state.config;
  const obstacle = obstacleToAll(state, now);
  const line = lineUp(state, now);
  const starts = line.filter(({ why }) => why === null).map(({ ready }, i) => `${i + 1}. ${nameOf(ready.issue)}`);
  // What stops all of them is said once, on top.
  const behind = (why: string) => (why === obstacle ? '' : `: ${neutralise(why)}`);
  const later = line.flatMap(({ ready, why }) => (why === null ? [] : [`${nameOf(ready.issue)}${behind(why)}`]));
  const paragraphs = [
    obstacle === null ? '' : `Nothing would start: ${neutralise(obstacle)}.`,
    list(`Would start now, ${agent.maxConcurrentAgents} at a time:`, starts),
    list('Would start later:', [...later, ...waiting(state, now)]),
    list('Would not start:', refused(state)),
    list('Could not be read:', state.poll.problems.map(neutralise)),
  ].filter((text) => text !== '');
  const states = tracker.activeStates.map((one) => `"${one}"`).join(' or ');
  if (paragraphs.length === 0) paragraphs.push(`Nothing would start: no issue is in state ${neutralise(states)}.`);
  return `${paragraphs.join('\n\n')}\n`;
}

/** Issues that an earlier daemon left waiting. */
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
    const reasons = failedRules(issue, state).map(({ why }) => why);
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
