import type { State } from '../../orchestrator/state.js';
import { runOf } from '../../orchestrator/state.js';
import type { Claim, Running } from '../../src/domain/claim.js';
import { stateKey } from '../../src/domain/issue.js';
import type { LawChecker } from './law-checker.js';
import type { Life } from './life.js';
import type { World } from './world.js';

/** Checks that the claims made by this event were allowed. Returns their runs. */
export function checkClaims(
  book: LawChecker,
  { time }: World,
  life: Life,
  isPaused: boolean,
  before: State,
  after: State,
): Running['run'][] {
  if (before.claims === after.claims) return [];
  const made: Running['run'][] = [];
  for (const [id, claim] of Object.entries(after.claims)) {
    const was = before.claims[id];
    if (claim.status.kind !== 'running' || claim.live.run?.stage !== 'claiming') continue;
    if (was?.status.kind === 'running' && was.status.run.runId === claim.status.run.runId) continue;
    made.push(claim.status.run);
    checkPermit(book, claim.status, isPaused, after, time.wallMs);
    checkLimits(book, claim, life, after);
    if (was?.status.kind === 'waiting' && was.status.baseline === null && was.status.dueAtMs > time.wallMs) {
      const earlyMs = was.status.dueAtMs - time.wallMs;
      book.broke('not_before_due', `${id} is claimed ${earlyMs} ms before its time`);
    }
  }
  return made;
}

function checkPermit(book: LawChecker, { run }: Running, isPaused: boolean, state: State, wallMs: number): void {
  const says = (why: string) => book.broke('held_starts_nothing', `${run.runId} is claimed: ${why}`);
  if (isPaused) says('paused by an operator');
  if (state.shutdown !== null) says('shutting down');
  if (state.poll.failure !== null) says('the tracker cannot be seen');
  const holds = Object.entries(state.holds);
  if (holds.length === 0) return;
  const sources = holds.map(([source]) => source).join(', ');
  if (!run.probe) says(`on hold (${sources}) and it is no probe`);
  if (holds.some(([source]) => source !== 'agent' && source !== 'workflow'))
    says(`on hold (${sources}), which no probe ends`);
  if (holds.some(([, hold]) => (hold.untilMs ?? 0) > wallMs)) says(`on hold (${sources}) and not yet time for a probe`);
  const probes = Object.values(state.claims).filter((one) => one.status.kind === 'running' && one.status.run.probe);
  if (probes.length > 1) says('a second probe');
}

function checkLimits(book: LawChecker, claim: Claim, life: Life, state: State): void {
  const { maxConcurrentAgents, maxConcurrentAgentsByState } = life.workflow.config.agent;
  const taken = Object.values(state.claims).filter((one) => runOf(one) !== null);
  if (taken.length > maxConcurrentAgents)
    book.broke('capacity', `${claim.issue.id} takes slot ${taken.length} of ${maxConcurrentAgents}`);
  const key = stateKey(claim.issue.state);
  const limit = maxConcurrentAgentsByState[key];
  const alike = taken.filter((one) => stateKey(one.issue.state) === key).length;
  if (limit !== undefined && alike > limit)
    book.broke('capacity', `${claim.issue.id} takes slot ${alike} of ${limit} for "${key}"`);
}

/** The longest backoff of any workflow with jitter, plus small clock corrections that are not reported. */
const LONGEST_WAIT_MS = 330_000 + 15_000;
/** A daemon notices at its next heartbeat that the clock was set back. */
const FOUND_OUT_MS = 1_500;

export function checkWaits(book: LawChecker, { time }: World, state: State): void {
  if (time.nowMs - time.setBackAtMs < FOUND_OUT_MS) return;
  for (const [id, { status }] of Object.entries(state.claims)) {
    if (status.kind !== 'waiting') continue;
    const leftMs = status.dueAtMs - time.wallMs;
    if (leftMs > LONGEST_WAIT_MS) book.broke('waits_bounded', `${id} waits for ${leftMs} ms more`);
  }
  for (const source of ['agent', 'workflow', 'store'] as const) {
    const hold = state.holds[source];
    const leftMs = (hold?.untilMs ?? 0) - time.wallMs;
    // The reset time of a quota comes from another clock.
    if (hold?.code !== 'agent_quota' && leftMs > LONGEST_WAIT_MS)
      book.broke('waits_bounded', `the hold of the ${source} lasts ${leftMs} ms more`);
  }
}

export function checkWhole(book: LawChecker, state: State): void {
  let runs = 0;
  for (const [id, claim] of Object.entries(state.claims)) {
    const run = runOf(claim);
    if (run !== null) {
      runs += 1;
      if (state.runs[run.runId] !== id) book.broke('state_is_whole', `the run ${run.runId} of ${id} takes no slot`);
    }
    if (claim.status.kind === 'running' && claim.live.run === null)
      book.broke('state_is_whole', `${id} is running without a run`);
    if (claim.status.kind === 'parked' && claim.status.message === '')
      book.broke('state_is_whole', `${id} is parked without a reason`);
    if (id in state.candidates) book.broke('state_is_whole', `${id} is claimed and a candidate`);
  }
  if (runs !== Object.keys(state.runs).length)
    book.broke('state_is_whole', `${Object.keys(state.runs).length} slots are taken by ${runs} runs`);
}
