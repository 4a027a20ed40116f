import { randomBytes } from 'node:crypto';
import { afterObservation } from '../../orchestrator/observe.js';
import { afterClosing, restore } from '../../orchestrator/restore.js';
import { initialState, type State } from '../../orchestrator/state.js';
import { existingPart, freeDiskMb } from '../../runner/workspace/workspace-root.js';
import { createClock } from '../clock.js';
import { commandHost, openTracker } from '../daemon/tracker.js';
import { assertTrackerAllowed } from '../daemon/workflow-gate.js';
import type { Clock, Instant } from '../domain/clock.js';
import { LIST_LIMIT_MS } from '../domain/clock.js';
import { toBatonError } from '../domain/errors.js';
import type { ReadResult } from '../domain/events.js';
import type { Issue } from '../domain/issue.js';
import type { IssueBatch, Tracker } from '../domain/ports.js';
import { createRedactor, type Redactor } from '../logging/redact.js';
import type { Io } from './io.js';
import type { OpenedWorkflow } from './open-workflow.js';

/** The state of a daemon that starts now, after its first poll. */
export interface SimulatedPoll {
  readonly state: State;
  readonly now: Instant;
  readonly redactor: Redactor;
  /** Also finds issues that are in no active state. Null when the tracker does not return it. */
  issueById(id: string): Promise<Issue | null>;
}

const READ_LIMIT_MS = 60_000;

/** Polls once. Creates no folder, stores nothing, starts nothing. */
export async function simulatePoll<T>(
  opened: OpenedWorkflow,
  io: Io,
  use: (poll: SimulatedPoll) => T | Promise<T>,
): Promise<T> {
  if (opened.holdsChanges) await assertTrackerAllowed(opened.loaded.workflow, opened.stateDir);
  const redactor = createRedactor();
  const clock = createClock();
  try {
    const tracker = await openTracker({ ...opened, env: io.env, redactor }, commandHost(clock));
    const issueById = async (id: string) => {
      const found = await read(() => tracker.issuesByIds([id], AbortSignal.timeout(READ_LIMIT_MS)));
      return (found.ok && found.issues[0]) || null;
    };
    try {
      const state = await poll(opened, tracker, clock);
      return await use({ state, now: clock.now(), redactor, issueById });
    } finally {
      await tracker.close();
    }
  } finally {
    clock.close();
  }
}

async function poll(opened: OpenedWorkflow, tracker: Tracker, clock: Clock): Promise<State> {
  const { config, hash } = opened.loaded.workflow;
  const { wallMs } = clock.now();
  const fresh = initialState(config, hash, randomBytes(4).toString('hex'), wallMs);
  const state = afterClosing(restore(fresh, await opened.storedState(), wallMs), clock.now());
  const claimed = Object.keys(state.claims);
  const [refresh, candidates, freeMb] = await Promise.all([
    claimed.length === 0 ? NOTHING : read(() => tracker.issuesByIds(claimed, AbortSignal.timeout(READ_LIMIT_MS))),
    read(() => tracker.issuesByStates(config.tracker.activeStates, AbortSignal.timeout(LIST_LIMIT_MS))),
    // The root may not exist yet.
    existingPart(config.workspace.root).then(freeDiskMb, () => null),
  ]);
  return afterObservation(state, { seq: 1, asked: claimed, refresh, candidates, freeDiskMb: freeMb }, clock.now());
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
