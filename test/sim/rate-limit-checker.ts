import type { State } from '../../orchestrator/state.js';
import type { Effect } from '../../src/domain/effects.js';
import type { Observation, OrchestratorEvent } from '../../src/domain/events.js';
import type { LawChecker } from './law-checker.js';

/** The first backoff minus the clock correction that is not reported. */
const LEAST_APART_MS = 9_000;

type Fault = { readonly resetAtMs: number | null };

/** The rejections that polls and runs really received, and their consequences. Times are wall-clock times. */
export class RateLimitChecker {
  /** The last ordered poll. */
  pollSeq = 0;
  /** Rejections that the core has not received yet: by poll or read, and by run. */
  readonly #told = new Map<number, number>();
  readonly #faults = new Map<string, Fault>();
  /** The reset before which no request is allowed, and the newest seq at the rejection. */
  #until = { ms: 0, seq: 0 };
  /** A person requested a poll that has not happened yet. */
  #isWished = false;
  /** The start times of the runs that the tracker's rejections ended last, by issue. */
  readonly #began = new Map<string, number>();
  readonly #startedAt = new Map<string, number>();

  restarted(): void {
    for (const map of [this.#told, this.#faults, this.#began, this.#startedAt]) map.clear();
    this.#until = { ms: 0, seq: 0 };
    this.#isWished = false;
  }

  /** A person requests a poll. */
  wished(): void {
    this.#isWished = true;
    this.#began.clear();
  }

  /** The poll or read with this seq was rejected. */
  refused(seq: number, resetAtMs: number): void {
    this.#told.set(seq, Math.max(this.#told.get(seq) ?? 0, resetAtMs));
  }

  runStarted(runId: string, wallMs: number): void {
    this.#startedAt.set(runId, wallMs);
  }

  /** A rejection ends the run, before its first process or during its turn. */
  runEnds(runId: string, resetAtMs: number | null): void {
    this.#faults.set(runId, { resetAtMs });
  }

  decided(
    book: LawChecker,
    before: State,
    event: OrchestratorEvent,
    after: State,
    effects: readonly Effect[],
    wallMs: number,
  ): void {
    switch (event.type) {
      case 'clock_set_back':
        return this.restarted();
      case 'retry_requested':
        this.#began.clear();
        break;
      case 'observed':
        this.#observed(event.observation, before, wallMs);
        break;
      case 'issues_read':
        this.#heard(event.seq, before, wallMs);
        break;
      case 'run_exited':
        this.#ended(book, event.runId, before, after, wallMs);
        break;
    }
    for (const effect of effects) {
      if (effect.type !== 'poll' && effect.type !== 'read_issues') continue;
      const isWished = effect.type === 'poll' && this.#isWished;
      if (effect.type === 'poll') {
        this.#isWished = false;
        this.pollSeq = effect.seq;
      }
      if (!isWished) this.#mayAsk(book, `${effect.type} at ${event.type}`, wallMs);
    }
  }

  claimed(book: LawChecker, runId: string, wallMs: number): void {
    this.#mayAsk(book, `${runId} is claimed`, wallMs);
  }

  #mayAsk(book: LawChecker, what: string, wallMs: number): void {
    if (wallMs < this.#until.ms) book.broke('limit_is_kept', `${what}, ${this.#until.ms - wallMs} ms before the reset`);
  }

  #observed({ seq, refresh, candidates }: Observation, before: State, wallMs: number): void {
    // The tracker answered a request made after the rejection.
    const isAnswered = refresh.ok && candidates.ok && !this.#told.has(seq);
    if (isAnswered && seq > this.#until.seq) this.#until = { ms: 0, seq: 0 };
    this.#heard(seq, before, wallMs);
  }

  #heard(seq: number, { seq: newest }: State, wallMs: number): void {
    const resetAtMs = this.#told.get(seq);
    this.#told.delete(seq);
    if (resetAtMs !== undefined) this.#limit(resetAtMs, newest, wallMs);
  }

  #limit(resetAtMs: number, seq: number, wallMs: number): void {
    const known = this.#until.ms > wallMs ? this.#until.ms : 0;
    this.#until = { ms: Math.max(known, resetAtMs), seq };
  }

  #ended(book: LawChecker, runId: string, before: State, after: State, wallMs: number): void {
    const fault = this.#faults.get(runId);
    const beganMs = this.#startedAt.get(runId) ?? wallMs;
    this.#faults.delete(runId);
    this.#startedAt.delete(runId);
    const issueId = before.runs[runId];
    const claim = issueId === undefined ? undefined : before.claims[issueId];
    // A run that was stopped meanwhile ends for another reason.
    if (!fault || issueId === undefined || claim?.live.run?.stop !== null || claim.failedAsProbe) return;
    if (fault.resetAtMs !== null) this.#limit(fault.resetAtMs, before.seq, wallMs);
    this.#checkFaultless(book, issueId, claim, after);
    const lastMs = this.#began.get(issueId);
    this.#began.set(issueId, beganMs);
    if (lastMs !== undefined && beganMs - lastMs < LEAST_APART_MS)
      book.broke('refused_not_hot', `${issueId} ran again ${beganMs - lastMs} ms after the run that was refused`);
  }

  #checkFaultless(book: LawChecker, issueId: string, was: State['claims'][string], after: State): void {
    const is = after.claims[issueId];
    const isUnharmed = is?.status.kind === 'waiting' && is.failures === was.failures && is.idleRuns === was.idleRuns;
    if (!isUnharmed)
      book.broke(
        'tracker_is_no_fault',
        `${issueId} had ${was.failures} failures and is ${is?.status.kind ?? 'not claimed'} with ${is?.failures ?? 0}`,
      );
  }
}
