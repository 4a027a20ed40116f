import type { RunFacts } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import type { Draft } from './draft.js';
import { changeHash } from './hash.js';
import { chooseProbe, permitOf } from './holds.js';
import { newLiveRun } from './live-run.js';
import type { FreshIssues } from './observe.js';
import { newAccount } from './run-record.js';
import { isDue, pick, type Ready, startable } from './select.js';
import { startBlocker } from './start-blocker.js';
import { recordOf } from './state.js';

/**
 * Gives free slots to the head of the ready list. Issues that were just read are claimed. For the others one batched read is ordered;
 * its answer calls this function again. It runs after every event, so a freed slot never waits for a poll.
 */
export function dispatchReady(draft: Draft, now: Instant, fresh: FreshIssues): void {
  if (startBlocker(draft.state, now) !== null) return;
  const permit = permitOf(draft.state, now);
  if (permit === 'none') return;
  const isProbe = permit === 'one_probe';
  const wanted = isProbe ? chooseProbe(startable(draft.state, now), draft.state) : pick(draft.state, now);

  const unread: string[] = [];
  for (const entry of wanted) {
    if (isFresh(entry, fresh)) claimIssue(draft, entry, fresh.seq, isProbe, now);
    else unread.push(entry.issue.id);
  }
  if (unread.length > 0 && draft.state.read === null) {
    const seq = draft.nextSeq();
    draft.set({ read: { seq } });
    draft.order({ type: 'read_issues', seq, ids: unread });
  }
  if (permit === 'all') markWaitingForSlot(draft, now);
}

/** A read counts for a waiting claim only when the claim has applied it. */
function isFresh({ issue, claim }: Ready, fresh: FreshIssues): boolean {
  if (claim === null) return fresh.allCandidates || fresh.ids.has(issue.id);
  return fresh.ids.has(issue.id) && claim.live.issueSeq === fresh.seq;
}

/** Takes the slot. The run starts once the claim is stored. */
function claimIssue(draft: Draft, { issue, claim }: Ready, seq: number, isProbe: boolean, now: Instant): void {
  const { state } = draft;
  const record = recordOf(state, issue.id);
  const runSeq = state.runSeq + 1;
  const waiting = claim?.status.kind === 'waiting' ? claim.status : null;
  const run: RunFacts = {
    runId: `${state.instance}-${runSeq}`,
    number: record.runs + 1,
    reason: waiting?.reason ?? 'first',
    attempt: waiting?.attempt ?? null,
    startedAtMs: now.wallMs,
    hash: changeHash(issue),
    threadId: null,
    resume: waiting?.resume ?? null,
    probe: isProbe,
    questions: [],
    answered: null,
    requestedAfterExit: null,
    account: newAccount(waiting?.cause ?? (state.once?.only ? 'operator' : 'poll'), state),
  };
  draft.put('records', issue.id, { ...record, runs: run.number });
  draft.set({ runSeq });
  draft.put('runs', run.runId, issue.id);
  draft.putClaim({
    failures: 0,
    idleRuns: 0,
    failedAsProbe: false,
    daemonDeaths: 0,
    ...claim,
    issue,
    status: { kind: 'running', run },
    live: {
      issueSeq: seq,
      refusals: claim?.live.refusals ?? 0,
      run: newLiveRun('claiming', state.persist.orderedSeq + 1, state.config, now),
    },
  });
}

function markWaitingForSlot(draft: Draft, now: Instant): void {
  if (draft.state.read !== null) return;
  for (const claim of Object.values(draft.state.claims)) {
    if (claim.status.kind !== 'waiting' || !isDue(claim, now) || claim.status.error?.code === 'no_slot') continue;
    const error = { code: 'no_slot', message: 'no available orchestrator slots' } as const;
    draft.putClaim({ ...claim, status: { ...claim.status, error } });
  }
}
