import type { CodexConfig } from '../../../src/domain/config.js';
import { BatonError } from '../../../src/domain/errors.js';
import { fieldsOf, type Json, textOf } from '../../../src/domain/json.js';
import { type FailedOutcome, failure } from '../../../src/domain/outcome.js';
import type { Question } from '../../../src/domain/run-signal.js';
import type { ContainedProcess } from '../../contain/process.js';
import type { StepContext } from '../executor.js';
import type { FairScheduler } from '../read-lines.js';
import { AppServerClient } from './app-server-client.js';
import { initialize, openThread } from './handshake.js';
import { MessageLog } from './message-log.js';
import { CALLS, textInput } from './protocol.js';
import { type Reporter, StderrLines } from './reporter.js';
import { Asking, HostTools, ServerRequests } from './server-requests.js';
import { codeOfTurnError, type FinishedTurn, StepEnded, Turn, withMessages } from './turn.js';

/**
 * One app-server process and its thread. At most one turn is open at a time: a `turn/start` during an active turn would silently
 * steer it instead. Whoever made the session ends it with `close`; the process itself is stopped by the executor.
 */
interface SessionDeps {
  readonly process: ContainedProcess;
  readonly context: StepContext;
  readonly reporter: Reporter;
  readonly scheduler: FairScheduler;
  onStderr(text: string): void;
  issueNow(): StepContext['issue'];
}

const INTERRUPT_WAIT_MS = 500;

export class CodexSession {
  readonly log: MessageLog;
  readonly asking: Asking;
  readonly tools: HostTools;
  readonly #client: AppServerClient;
  readonly #steering: Steering;
  readonly #leave: (unheard: readonly string[]) => void;
  #turn: Turn | null = null;
  #agentVersion: string | null = null;
  #threadId = '';
  #turns = 0;

  constructor(private readonly deps: SessionDeps) {
    const { process, context, reporter, scheduler } = deps;
    const stderr = new StderrLines(process.stderr, scheduler, deps.onStderr);
    const pauseClock = (isAsking: boolean) => (isAsking ? this.#turn?.pauseClock() : this.#turn?.resumeClock());
    // With the step in it where there are several: a late answer must not be taken for one to a question of the next agent.
    const { index } = context.step;
    this.asking = new Asking(reporter, pauseClock, index === 0 ? context.runId : `${context.runId}-${index}`);
    this.log = new MessageLog(reporter, {
      turnEnded: (turn) => this.#turn?.end(turn),
      requestResolved: (requestId) => this.asking.withdraw(requestId),
    });
    this.tools = new HostTools(context.tools, context.runId, reporter, deps.issueNow);
    const requests = new ServerRequests({
      policy: context.config.codex.onApprovalRequest,
      asking: this.asking,
      tools: this.tools,
      reporter,
      changesOf: (itemId) => this.log.changesOf(itemId),
      onInputRequired: (question) => this.#requireInput(question),
    });
    this.#client = new AppServerClient({
      process,
      scheduler,
      clock: context.clock,
      readTimeoutMs: context.config.codex.readTimeoutMs,
      lastWords: () => stderr.lastWords(),
      handlers: {
        notification: (method, params) => this.log.notification(method, params),
        request: (method, id, params) => {
          this.log.request(method);
          return requests.handle(method, id, params);
        },
        malformed: (reason, sample) => reporter.event('malformed', { data: { reason, sample } }),
        stray: (kind, id) => this.log.stray(kind, id),
      },
    });
    this.#steering = new Steering(this.#client, reporter);
    this.#leave = context.controls.attend({
      onAnswer: (questionId, answer) => this.asking.answer(questionId, answer),
      onMessage: (text) => this.#steering.say(text),
    });
    void this.#client.closed.then((error) => this.#turn?.abandon(error));
  }

  get turns(): number {
    return this.#turns;
  }

  async initialize(version: string): Promise<void> {
    this.#agentVersion = await initialize(this.#client, version);
  }

  /** True when an old thread goes on. */
  async openThread(): Promise<boolean> {
    const { context, reporter } = this.deps;
    const { threadId, resumed, model } = await openThread(this.#client, context, reporter);
    reporter.signal({ type: 'agent_known', version: this.#agentVersion, model });
    this.#threadId = threadId;
    this.log.threadId = threadId;
    reporter.threadId = threadId;
    return resumed;
  }

  /** Resolves when the turn completed; throws when it ended in any other way. */
  async runTurn(text: string): Promise<void> {
    const { clock, config } = this.deps.context;
    const turn = new Turn(clock, config.codex.turnTimeoutMs);
    this.#turn = turn;
    // Where the connection was closed before it began nobody else abandons it, and its clock would keep all of this alive.
    await this.#carry(turn, text).finally(() => turn.abandon(new BatonError('internal_error', 'the turn is over')));
  }

  async #carry(turn: Turn, text: string): Promise<void> {
    const { reporter, context } = this.deps;
    if (this.asking.first) turn.pauseClock();
    const words = withMessages(text, this.#steering.take());
    context.promptSent(words);
    const reply = fieldsOf(
      await Promise.race([this.#client.request(CALLS.turnStart, this.#turnOrder(words)), turn.finished]),
    );
    const turnId = textOf(fieldsOf(reply.turn).id);
    if (turnId === null) throw new BatonError('response_error', 'the agent started a turn without an id');
    this.#turns += 1;
    reporter.turnId = turnId;
    reporter.event('session_started', { data: { turn: this.#turns } });
    reporter.signal({ type: 'session', threadId: this.#threadId, turnId, turn: this.#turns });
    this.log.progress.made();
    turn.begin(turnId);
    this.#steering.attach({ threadId: this.#threadId, turn });
    const finished = await turn.finished;
    this.asking.withdrawAll();
    this.#judge(finished);
  }

  /** Makes the open turn end with `error`, whatever the agent is doing. */
  abandonTurn(error: Error): void {
    this.#turn?.abandon(error);
  }

  /** Asks the agent to let go of an unfinished turn, reports how that turn ended, and stops listening. */
  async close(outcome: FailedOutcome | null): Promise<void> {
    const { reporter } = this.deps;
    const turn = this.#turn;
    if (outcome && turn?.id != null && turn.isUnfinished) {
      await this.#interrupt(turn.id);
      const type = outcome.state === 'cancelled' ? 'turn_cancelled' : 'turn_ended_with_error';
      reporter.event(type, { data: { code: outcome.error.code, message: outcome.error.message } });
    } else if (outcome && turn && turn.id === null && this.#turns > 0) {
      reporter.event('turn_ended_with_error', { data: { code: outcome.error.code, message: outcome.error.message } });
    }
    this.#leave(this.#steering.unheard);
    reporter.end();
    this.#client.dispose();
  }

  async #interrupt(turnId: string): Promise<void> {
    if (!this.#client.isOpen) return;
    let cancel = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.deps.context.clock.after(INTERRUPT_WAIT_MS, resolve);
    });
    const asked = this.#client.request(CALLS.turnInterrupt, { threadId: this.#threadId, turnId }).catch(() => {});
    await Promise.race([asked, late]);
    cancel();
  }

  #turnOrder(text: string): object {
    const { workspace, tmpDir, config } = this.deps.context;
    const sandboxPolicy = sandboxPolicyOf(config.codex, workspace, tmpDir);
    return {
      threadId: this.#threadId,
      input: textInput(text),
      cwd: workspace,
      ...(sandboxPolicy === null ? {} : { sandboxPolicy }),
    };
  }

  #judge(turn: FinishedTurn): void {
    const { reporter, context } = this.deps;
    const usage = this.log.usage.totalsOf(this.#threadId);
    if (turn.status === 'completed') {
      reporter.event('turn_completed', { usage });
      return;
    }
    const error = fieldsOf(turn.error);
    const message = textOf(error.message) ?? `the agent reports a turn that is ${turn.status.slice(0, 50)}`;
    if (turn.status === 'interrupted') {
      reporter.event('turn_cancelled', { usage, data: { message } });
      throw new BatonError('turn_cancelled', `the turn was interrupted: ${message}`);
    }
    const code = codeOfTurnError(error.codexErrorInfo);
    reporter.event('turn_failed', { usage, data: { code, message, codexErrorInfo: error.codexErrorInfo ?? null } });
    const resetAtMs = code === 'agent_quota' ? this.log.limits.resetAtMs(context.clock.now().wallMs) : undefined;
    throw new StepEnded(failure(code, message.slice(0, 2_000), resetAtMs === undefined ? {} : { resetAtMs }));
  }

  #requireInput(question: Question): void {
    const message = `the agent needs an answer: ${question.text.slice(0, 500)}`;
    this.abandonTurn(new StepEnded(failure('turn_input_required', message, { question })));
  }
}

interface Message {
  readonly text: string;
  /** On its way: into the active turn, or with the text of the turn that is being started. */
  way: 'none' | 'steer' | 'turn';
}

/**
 * Messages of people to the agent. Into the active turn when there is one; else they wait for the next turn's text. A message is heard
 * when the agent has confirmed it, and until then it is kept.
 */
class Steering {
  readonly #unheard = new Set<Message>();
  #target: { readonly threadId: string; readonly turn: Turn } | null = null;

  constructor(
    private readonly client: AppServerClient,
    private readonly reporter: Reporter,
  ) {}

  say(text: string): void {
    const message: Message = { text, way: 'none' };
    this.#unheard.add(message);
    void this.#send(message);
  }

  /** A turn runs: it has heard what came with its text, and what was said while it started goes to it. */
  attach(target: { readonly threadId: string; readonly turn: Turn }): void {
    this.#target = target;
    for (const message of this.#unheard) if (message.way === 'turn') this.#unheard.delete(message);
    for (const message of this.#unheard) if (message.way === 'none') void this.#send(message);
  }

  /** What has waited, for the text of the next turn. */
  take(): string[] {
    const waiting = [...this.#unheard].filter(({ way }) => way === 'none');
    for (const message of waiting) message.way = 'turn';
    return waiting.map(({ text }) => text);
  }

  /** What the agent is not known to have heard. */
  get unheard(): string[] {
    return [...this.#unheard].map(({ text }) => text);
  }

  async #send(message: Message): Promise<void> {
    const target = this.#target;
    const expectedTurnId = target?.turn.activeId ?? null;
    if (!target || expectedTurnId === null) return;
    message.way = 'steer';
    const input = textInput(message.text);
    try {
      await this.client.request(CALLS.turnSteer, { threadId: target.threadId, expectedTurnId, input });
      this.#unheard.delete(message);
    } catch (error) {
      // The turn ended in between, or cannot be steered: the next one will hear it.
      message.way = 'none';
      this.reporter.warning('a message waits for the next turn', { message: (error as Error).message });
    }
  }
}

/**
 * What each turn may write. Set by the user: passed on as it is. Otherwise, under `workspace-write`, the workspace and the run's own
 * TMPDIR, named outright: the TMPDIR variable may have been changed by the login shell, and the system's temp folder is shared with others.
 * Any other `thread_sandbox` is a choice of its own, which a turn policy would silently undo: then none is sent.
 */
export function sandboxPolicyOf(codex: CodexConfig, workspace: string, tmpDir: string): Json {
  if (codex.turnSandboxPolicy !== null) return codex.turnSandboxPolicy;
  if (codex.threadSandbox !== 'workspace-write') return null;
  return {
    type: 'workspaceWrite',
    writableRoots: [workspace, tmpDir],
    networkAccess: false,
    excludeTmpdirEnvVar: true,
    excludeSlashTmp: true,
  };
}
