import type { State } from '../../orchestrator/state.js';
import type { Effect, StartOrder } from '../../src/domain/effects.js';
import type { OrchestratorEvent } from '../../src/domain/events.js';
import type { Issue } from '../../src/domain/issue.js';
import type { StopReason } from '../../src/domain/run.js';
import { checkClaims, checkWaits, checkWhole } from './check-decision.js';
import { StoredStates } from './check-restart.js';
import { DeathChecker } from './death-checker.js';
import { describeEvent } from './describe-event.js';
import type { Breach, LawName } from './laws.js';
import type { Life } from './life.js';
import { RateLimitChecker } from './rate-limit-checker.js';
import { markReached } from './reached.js';
import { RunTotals } from './run-totals.js';
import { TrackerAnswers } from './tracker-answers.js';
import type { World } from './world.js';

const SHUTDOWN_SLACK_MS = 1_000;

/**
 * Observes the world from outside and keeps its own records: the tracker's real answers, the real disk content, and which
 * processes really exist. It does not trust the core. It keeps the first breach.
 */
export class LawChecker {
  breach: Breach | null = null;
  events = 0;
  readonly words = new TrackerAnswers();
  readonly runBooks = new RunTotals();
  readonly limits = new RateLimitChecker();
  readonly deaths = new DeathChecker();
  readonly #stored = new StoredStates();
  readonly #numbers = new Map<string, number>();
  readonly #runIds = new Set<string>();
  readonly #stopped = new Set<string>();
  readonly #paid = new Set<string>();
  /** The highest run limit between a run's claim and its start. */
  readonly #allowed = new Map<string, number>();
  readonly #silence = new Map<string, { limitMs: number; sinceMs: number }>();
  #isPaused = false;

  constructor(private readonly world: World) {}

  broke(law: LawName, message: string): void {
    this.breach ??= { law, message };
  }

  /** Called after every event. */
  decided(life: Life, before: State, event: OrchestratorEvent, after: State, effects: readonly Effect[]): void {
    const { world } = this;
    this.events += 1;
    world.tell(() => describeEvent(event, effects));
    markReached(world.coverage, before, after, effects);
    this.#stored.decided(life.number, event, after, effects);
    this.words.decided(event, effects, life.workflow.config.tracker);
    if (event.type === 'config_changed') this.#limitsChanged(life);
    if (event.type === 'shutdown_requested') this.#mustLeave(life);
    if (event.type === 'run_exited') this.#exited(event.runId, before);
    this.limits.decided(this, before, event, after, effects, world.time.wallMs);
    this.deaths.decided(before, event, after);
    checkWhole(this, after);
    if (event.type === 'observed') checkWaits(this, world, after);
    this.runBooks.decided(this, event, after);
    for (const { was, is } of world.disk.reopened) {
      const isAnother = was.issueId !== is.issueId || was.number !== is.number;
      if (isAnother) this.broke('run_ids_unique', `${is.runId} is run ${is.number} of ${is.issueId} and was another`);
      else this.broke('runs_recorded', `the record of ${is.runId} is open again`);
    }
    this.words.check(this, before, event, after);
    for (const claim of checkClaims(this, world, life, this.#isPaused, before, after)) {
      const { maxConcurrentAgents } = life.workflow.config.agent;
      this.limits.claimed(this, claim.runId, world.time.wallMs);
      this.#allowed.set(claim.runId, maxConcurrentAgents);
      this.#silence.set(claim.runId, { limitMs: life.workflow.config.codex.stallTimeoutMs, sinceMs: 0 });
    }
  }

  get startedRuns(): readonly string[] {
    return [...this.#runIds];
  }

  runStarts({ runId, number, issue }: StartOrder, life: Life): void {
    const { trees, disk } = this.world;
    const living = trees.of(issue.id);
    const removal = living.find(({ marker }) => marker.startsWith('remove-'));
    if (removal) this.broke('no_removal_under_life', `${runId} starts while the workspace of ${issue.id} is removed`);
    else if (living[0])
      this.broke('one_tree_per_issue', `${runId} of ${issue.id} starts while ${living[0].marker} lives`);
    if (this.#runIds.has(runId)) this.broke('run_ids_unique', `${runId} was there before`);
    const last = this.#numbers.get(issue.id) ?? 0;
    if (number <= last) this.broke('numbers_grow', `run ${number} of ${issue.id} comes after run ${last}`);
    const status = disk.durable.claims[issue.id]?.status;
    if (status?.kind !== 'running' || status.run.runId !== runId) {
      this.broke('stored_before_started', `${runId} starts, and the disk has ${JSON.stringify(status ?? null)}`);
    }
    const runs = trees.alive.filter(({ marker }) => !marker.startsWith('remove-')).length + 1;
    const allowed = this.#allowed.get(runId) ?? life.workflow.config.agent.maxConcurrentAgents;
    if (runs > allowed) this.broke('capacity', `${runs} trees with ${runId}, ${allowed} are allowed`);
    for (const [owing, issueId] of disk.owing) {
      if (issueId === issue.id) this.broke('after_run_paid', `${runId} starts while ${owing} owes its after_run`);
    }
    this.#runIds.add(runId);
    this.#numbers.set(issue.id, number);
    this.#allowed.delete(runId);
    this.words.started(issue.id);
    this.deaths.runStarted(this, runId, issue.id);
    this.limits.runStarted(runId, this.world.time.wallMs);
  }

  stopAsked(runId: string, reason: StopReason, life: Life): void {
    const { trees, time } = this.world;
    const isAlive = trees.alive.some((tree) => tree.marker === runId && tree.life === life.number);
    if (!isAlive) this.broke('stop_once', `${runId} is asked to stop (${reason}) and does not live`);
    if (this.#stopped.has(runId)) this.broke('stop_once', `${runId} is asked to stop again (${reason})`);
    this.#stopped.add(runId);
    const silence = this.#silence.get(runId);
    if (reason !== 'stalled' || !silence) return;
    const silentMs = time.nowMs - silence.sinceMs;
    if (silentMs < silence.limitMs) this.broke('stall_is_silence', `${runId} was silent for ${silentMs} ms only`);
  }

  /** The run reported progress. */
  progressed(runId: string, atMs: number): void {
    const silence = this.#silence.get(runId);
    if (silence) silence.sinceMs = atMs;
  }

  afterRunPaid(runId: string, issueId: string, life: number): void {
    const key = `${life}:${runId}`;
    if (this.#paid.has(key)) this.broke('after_run_paid', `after_run of ${runId} runs a second time`);
    this.#paid.add(key);
    const other = this.world.trees.of(issueId).find(({ marker }) => marker !== runId);
    if (other) this.broke('after_run_paid', `after_run of ${runId} runs while ${other.marker} lives`);
  }

  removalStarts(issue: Issue, life: Life): void {
    const living = this.world.trees.of(issue.id)[0];
    if (living) this.broke('no_removal_under_life', `the workspace of ${issue.id} goes while ${living.marker} lives`);
    if (Object.values(life.state?.runs ?? {}).includes(issue.id))
      this.broke('no_removal_under_life', `the workspace of ${issue.id} goes while it has a run`);
    if (!this.words.saidTerminal(issue.id, life.workflow.config.tracker))
      this.broke('removed_only_terminal', `the workspace of ${issue.id} goes, last told: ${this.words.last(issue.id)}`);
  }

  /** Delivers an event of an ended run. The claim of its issue must not change. */
  oldRunSpeaks(life: Life, issueId: string, event: OrchestratorEvent): void {
    const facts = () => {
      const claim = life.state?.claims[issueId];
      return JSON.stringify([claim?.failures, claim?.idleRuns, claim?.status.kind, claim && 'run' in claim.status]);
    };
    const before = facts();
    const holds = life.state?.holds;
    life.dispatch(event);
    // When the clock is set back to an earlier day, its budget may stop a run that is about to start, at any event.
    if (life.isDead || life.state?.holds !== holds) return;
    if (facts() !== before) this.broke('old_run_changes_nothing', `${event.type} turned ${before} into ${facts()}`);
  }

  /** An operator requested it while the daemon was running. */
  operatorSaid(word: 'pause_requested' | 'resume_requested'): void {
    this.#isPaused = word === 'pause_requested';
  }

  restarted(state: State, life: Life): void {
    const { disk, time } = this.world;
    this.#isPaused = disk.durable.pausedSinceMs !== null;
    this.words.restarted();
    this.limits.restarted();
    this.#stored.check(this, disk, state, life.number, time.instant(0));
    this.runBooks.restarted(disk.durable, life.workflow.config.agent.onInputTimeout);
  }

  leftInOrder(life: Life): void {
    const left = this.world.trees.alive.find((tree) => tree.life === life.number);
    if (left) this.broke('orderly_exit', `${left.marker} of ${left.issueId} is left behind`);
  }

  #exited(runId: string, before: State): void {
    if (!Object.hasOwn(before.runs, runId)) return;
    const isAlive = this.world.trees.alive.some((tree) => tree.marker === runId);
    if (isAlive) this.broke('exit_means_gone', `${runId} is said to have exited and lives`);
  }

  #limitsChanged(life: Life): void {
    const { maxConcurrentAgents } = life.workflow.config.agent;
    for (const [runId, allowed] of this.#allowed) this.#allowed.set(runId, Math.max(allowed, maxConcurrentAgents));
  }

  #mustLeave(life: Life): void {
    const limitMs = life.workflow.config.runtime.shutdownTimeoutMs + SHUTDOWN_SLACK_MS;
    this.world.time.after(limitMs, () => {
      if (!life.isDead) this.broke('orderly_exit', `asked to leave, and still there after ${limitMs} ms`);
    });
  }
}
