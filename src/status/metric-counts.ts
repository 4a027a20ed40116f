import { Counter, Histogram, type Registry } from 'prom-client';
import type { State } from '../../orchestrator/state.js';
import type { Claim } from '../domain/claim.js';
import type { Instant } from '../domain/clock.js';
import type { OrchestratorEvent } from '../domain/events.js';
import type { Question } from '../domain/question.js';
import type { RunRecord } from '../domain/run-record.js';
import { codeLabel } from './metric-labels.js';
import type { Totals } from '../api/totals.js';

const RUN_BUCKETS = [5, 15, 60, 300, 900, 1_800, 3_600, 7_200, 14_400];
const POLL_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** What has happened, counted since this daemon began. All of it is read off the state before and after an event. */
export class Counts {
  readonly #runs: Counter<'outcome' | 'code'>;
  readonly #runSeconds: Histogram<'outcome'>;
  readonly #retries: Counter;
  readonly #stalls: Counter;
  readonly #asked: Counter<'kind'>;
  readonly #answered: Counter<'kind'>;
  readonly #finished: Counter<'how'>;
  readonly #polls: Counter<'result' | 'code'>;
  readonly #pollSeconds: Histogram;
  readonly #tokens: Counter<'type'>;
  #poll: { readonly seq: number; readonly beganAwakeMs: number } | null = null;

  constructor(registry: Registry) {
    const registers = [registry];
    const counter = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
      new Counter({ name, help, labelNames, registers });
    this.#runs = counter('baton_runs_total', 'Runs that have ended.', ['outcome', 'code']);
    this.#runSeconds = new Histogram({
      ...{ name: 'baton_run_duration_seconds', help: 'How long runs took, hooks included.' },
      ...{ labelNames: ['outcome'] as const, buckets: RUN_BUCKETS, registers },
    });
    this.#retries = counter('baton_retries_total', 'Failed runs after which a retry was scheduled.');
    this.#stalls = counter('baton_stalls_total', 'Runs that were stopped because their agent was silent for too long.');
    this.#asked = counter('baton_questions_asked_total', 'Questions that agents asked a person.', ['kind']);
    this.#answered = counter('baton_questions_answered_total', 'Questions that a person answered.', ['kind']);
    this.#finished = counter('baton_issues_finished_total', 'Issues that left our hands after a run.', ['how']);
    this.#polls = counter('baton_polls_total', 'Readings of the tracker.', ['result', 'code']);
    this.#pollSeconds = new Histogram({
      ...{ name: 'baton_poll_duration_seconds', help: 'How long readings of the tracker took.' },
      ...{ buckets: POLL_BUCKETS, registers },
    });
    this.#tokens = counter('baton_tokens_total', 'Tokens that agents used; cached_input is part of input.', ['type']);
    this.#begin();
  }

  decided(event: OrchestratorEvent, before: State, after: State, now: Instant): void {
    if (before.ended !== after.ended) this.#countEnds(before, after);
    if (before.poll.inFlightSeq !== after.poll.inFlightSeq) this.#countPoll(event, before, after, now);
    if (before.finished !== after.finished) this.#countFinished(before, after);
    switch (event.type) {
      case 'run_signalled':
        if (event.signal.type === 'asked') this.#countAsked(event.signal.question, event.runId, before, after);
        return;
      case 'answer_given':
        return this.#countAnswer(event.issueId, event.questionId, before, after);
      case 'run_exited':
        return this.#countExit(event.runId, before, after);
      case 'run_unkillable':
        return this.#countStall(claimOf(before, event.runId));
    }
  }

  tell({ input, cached, output }: Totals): void {
    this.#tokens.reset();
    this.#tokens.inc({ type: 'input' }, input);
    this.#tokens.inc({ type: 'cached_input' }, cached);
    this.#tokens.inc({ type: 'output' }, output);
  }

  /** A counter that appears with its first event hides that event: `increase()` sees a series that was always 1. */
  #begin(): void {
    this.#runs.inc({ outcome: 'success', code: '' }, 0);
    this.#polls.inc({ result: 'ok', code: '' }, 0);
    for (const kind of ['approval', 'input']) {
      this.#asked.inc({ kind }, 0);
      this.#answered.inc({ kind }, 0);
    }
    for (const how of ['done', 'handed_over']) this.#finished.inc({ how }, 0);
  }

  /** Several may end in one decision; they stay in `ended` until they are stored. */
  #countEnds(before: State, after: State): void {
    for (const [runId, { record }] of Object.entries(after.ended)) {
      if (record.end === null || Object.hasOwn(before.ended, runId)) continue;
      const { outcome, code, atMs } = record.end;
      this.#runs.inc({ outcome, code: codeLabel(code) });
      if (wasOurs(record, before))
        this.#runSeconds.observe({ outcome }, Math.max(0, atMs - record.startedAtMs) / 1_000);
    }
  }

  #countPoll(event: OrchestratorEvent, before: State, after: State, now: Instant): void {
    if (event.type === 'observed' && event.observation.seq === before.poll.inFlightSeq) {
      const { refresh, candidates } = event.observation;
      const failure = !refresh.ok ? refresh : !candidates.ok ? candidates : null;
      this.#polls.inc({ result: failure ? 'failed' : 'ok', code: codeLabel(failure?.code ?? null) });
      if (this.#poll?.seq === before.poll.inFlightSeq)
        this.#pollSeconds.observe((now.awakeMs - this.#poll.beganAwakeMs) / 1_000);
    }
    const seq = after.poll.inFlightSeq;
    this.#poll = seq === null ? null : { seq, beganAwakeMs: now.awakeMs };
  }

  #countFinished(before: State, after: State): void {
    const known = new Set(before.finished);
    for (const issue of after.finished)
      if (!known.has(issue)) this.#finished.inc({ how: issue.isTerminal ? 'done' : 'handed_over' });
  }

  #countAsked({ id, kind }: Question, runId: string, before: State, after: State): void {
    const isNew = !openQuestion(claimOf(before, runId), id) && openQuestion(claimOf(after, runId), id);
    if (isNew) this.#asked.inc({ kind });
  }

  #countAnswer(issueId: string, questionId: string, before: State, after: State): void {
    const question = openQuestion(claimAt(before, issueId), questionId);
    if (question && !openQuestion(claimAt(after, issueId), questionId)) this.#answered.inc({ kind: question.kind });
  }

  #countExit(runId: string, before: State, after: State): void {
    const claim = claimOf(before, runId);
    if (!claim) return;
    this.#countStall(claim);
    const next = claimAt(after, claim.issue.id);
    if (next?.status.kind === 'waiting' && next.failures > claim.failures) this.#retries.inc();
  }

  /** When the run is given up and not when its stop is ordered: a weightier reason may come in between. */
  #countStall(claim: Claim | undefined): void {
    if (claim?.live.run?.stop === 'stalled') this.#stalls.inc();
  }
}

/** When a run that an earlier daemon left has really ended, and how long one that never began took, nobody can tell. */
function wasOurs({ issueId, runId }: RunRecord, before: State): boolean {
  const claim = claimAt(before, issueId);
  return claim?.status.kind === 'running' && claim.status.run.runId === runId && claim.live.run?.stage === 'started';
}

function openQuestion(claim: Claim | undefined, questionId: string): Question | undefined {
  if (claim?.status.kind === 'running') return claim.status.run.questions.find(({ id }) => id === questionId);
  const parked = claim?.status.kind === 'parked' ? claim.status.question : null;
  return parked?.id === questionId ? parked : undefined;
}

function claimOf(state: State, runId: string): Claim | undefined {
  return Object.hasOwn(state.runs, runId) ? claimAt(state, state.runs[runId] ?? '') : undefined;
}

/** `constructor` and the like are there on every object. */
function claimAt(state: State, issueId: string): Claim | undefined {
  return Object.hasOwn(state.claims, issueId) ? state.claims[issueId] : undefined;
}
