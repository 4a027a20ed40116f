import { BatonError } from '../../../src/domain/errors.js';
import { fieldsOf, textOf } from '../../../src/domain/json.js';
import { type FailedOutcome, failure } from '../../../src/domain/outcome.js';
import type { Question } from '../../../src/domain/run-signal.js';
import type { ContainedProcess } from '../../contain/process.js';
import type { StepContext } from '../executor.js';
import type { FairScheduler } from '../read-lines.js';
import { codeOfTurnError, StepEnded } from './agent-errors.js';
import { AppServerClient } from './app-server-client.js';
import { type AgentFacts, initialize, openThread } from './handshake.js';
import { MessageLog } from './message-log.js';
import { CALLS, textInput } from './protocol.js';
import { OpenQuestions } from './questions.js';
import { type Reporter, StderrLines } from './reporter.js';
import { HostTools, ServerRequests } from './server-requests.js';
import { sandboxPolicyOf } from './thread-config.js';
import { type FinishedTurn, Turn } from './turn.js';
import { withMessages } from './turn-text.js';

interface SessionDeps {
  readonly process: ContainedProcess;
  readonly context: StepContext;
  readonly reporter: Reporter;
  readonly scheduler: FairScheduler;
  currentIssue(): StepContext['issue'];
}

const INTERRUPT_WAIT_MS = 500;

/**
 * One app-server process and its thread: `initialize`, `openThread`, then one `runTurn` after the other, then `close`. At most one
 * turn is open at a time, because a `turn/start` during an active turn would steer that turn instead of starting another. The
 * owner of the session calls `close` in every case; the executor stops the process.
 */
export class CodexSession {
  readonly log: MessageLog;
  readonly questions: OpenQuestions;
  readonly tools: HostTools;
  readonly #client: AppServerClient;
  readonly #steering: Steering;
  readonly #detach: (unread: readonly string[]) => void;
  #turn: Turn | null = null;
  #agent: AgentFacts = { version: null, isCodex: false };
  #threadId = '';
  #turns = 0;

  constructor(private readonly deps: SessionDeps) {
    const { process, context, reporter, scheduler } = deps;
    const outputReceived = () => this.#turn?.outputReceived();
    const stderr = new StderrLines(process.stderr, scheduler, (text) => {
      outputReceived();
      context.agentStderr(text);
    });
    const pauseClock = (isAsking: boolean) => (isAsking ? this.#turn?.pauseClock() : this.#turn?.resumeClock());
    // Question ids contain the step index: a late answer must not match a question of the next agent step.
    const { index } = context.step;
    this.questions = new OpenQuestions(reporter, pauseClock, index === 0 ? context.runId : `${context.runId}-${index}`);
    this.log = new MessageLog(reporter, {
      turnEnded: (turn) => this.#turn?.end(turn),
      requestResolved: (requestId) => this.questions.withdraw(requestId),
    });
    this.tools = new HostTools({
      ...{ context, reporter, questions: this.questions },
      currentIssue: deps.currentIssue,
    });
    const requests = new ServerRequests({
      policy: context.config.codex.onApprovalRequest,
      questions: this.questions,
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
      stderrTail: () => stderr.tail(),
      handlers: {
        output: outputReceived,
        notification: (method, params) => this.log.notification(method, params),
        request: (method, id, params) => {
          this.log.request(method);
          return requests.handle(method, id, params);
        },
        malformed: (reason, sample) => reporter.event('malformed', { data: { reason, sample } }),
        unexpectedId: (kind, id) => this.log.unexpectedId(kind, id),
      },
    });
    this.#steering = new Steering(this.#client, reporter);
    this.#detach = context.mailbox.attend({
      onAnswer: (questionId, answer) => this.questions.answer(questionId, answer),
      onMessage: (text) => this.#steering.send(text),
    });
    void this.#client.closed.then((error) => this.#turn?.abandon(error));
  }

  get turns(): number {
    return this.#turns;
  }

  async initialize(version: string): Promise<void> {
    this.#agent = await initialize(this.#client, version);
  }

  /** Returns true when an earlier thread is resumed. */
  async openThread(): Promise<boolean> {
    const { process, context, reporter } = this.deps;
    const agent = { ...this.#agent, pid: process.pid };
    const { threadId, resumed, model } = await openThread(this.#client, agent, context, reporter);
    reporter.signal({ type: 'agent_known', version: agent.version, model });
    this.#threadId = threadId;
    this.log.threadId = threadId;
    reporter.threadId = threadId;
    return resumed;
  }

  /** Resolves when the turn completed. Throws when it ended in any other way. */
  async runTurn(text: string): Promise<void> {
    const { clock, config } = this.deps.context;
    const { turnTimeoutMs: silenceMs, maxTurnMs: totalMs } = config.codex;
    const turn = new Turn(clock, { silenceMs, totalMs });
    this.#turn = turn;
    // Abandon the turn in every case: when the connection was already closed, nothing else stops the turn's timer.
    await this.#run(turn, text).finally(() => turn.abandon(new BatonError('internal_error', 'the turn is over')));
  }

  async #run(turn: Turn, prompt: string): Promise<void> {
    const { reporter, context } = this.deps;
    if (this.questions.oldest) turn.pauseClock();
    const text = withMessages(prompt, this.#steering.takeWaiting());
    context.promptSent(text);
    const started = this.#client.request(CALLS.turnStart, this.#turnParams(text));
    const reply = fieldsOf(await Promise.race([started, turn.finished]));
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
    this.questions.withdrawAll();
    this.#checkEnd(finished);
  }

  /** Makes the open turn end with `error`, whatever the agent is doing. */
  abandonTurn(error: Error): void {
    this.#turn?.abandon(error);
  }

  /** Interrupts an unfinished turn, reports how the turn ended, and stops listening to the agent. */
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
    this.#detach(this.#steering.unread);
    reporter.end();
    this.#client.dispose();
  }

  async #interrupt(turnId: string): Promise<void> {
    if (!this.#client.isOpen) return;
    let cancel = () => {};
    const timeout = new Promise<void>((resolve) => {
      cancel = this.deps.context.clock.after(INTERRUPT_WAIT_MS, resolve);
    });
    const reply = this.#client.request(CALLS.turnInterrupt, { threadId: this.#threadId, turnId }).catch(() => {});
    await Promise.race([reply, timeout]);
    cancel();
  }

  #turnParams(text: string): object {
    const { workspace, tmpDir, config } = this.deps.context;
    const sandboxPolicy = sandboxPolicyOf(config.codex, workspace, tmpDir);
    return {
      threadId: this.#threadId,
      input: textInput(text),
      cwd: workspace,
      ...(sandboxPolicy === null ? {} : { sandboxPolicy }),
    };
  }

  /** Reports the end of the turn. Throws unless the agent completed it. */
  #checkEnd(turn: FinishedTurn): void {
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
  /** `steering`: sent into the active turn; `in_prompt`: part of the text of the turn that is being started. Neither is confirmed yet. */
  state: 'waiting' | 'steering' | 'in_prompt';
}

/**
 * Messages of people to the agent. A message goes into the active turn; without one it waits for the text of the next turn. It is
 * kept until the agent confirms it: the reply to `turn/steer`, or the start of the turn whose text contains it.
 */
class Steering {
  readonly #unconfirmed = new Set<Message>();
  #target: { readonly threadId: string; readonly turn: Turn } | null = null;

  constructor(
    private readonly client: AppServerClient,
    private readonly reporter: Reporter,
  ) {}

  send(text: string): void {
    const message: Message = { text, state: 'waiting' };
    this.#unconfirmed.add(message);
    void this.#steer(message);
  }

  /** A turn has started: it confirms the messages in its text, and messages that arrived meanwhile are steered into it. */
  attach(target: { readonly threadId: string; readonly turn: Turn }): void {
    this.#target = target;
    for (const message of this.#unconfirmed) if (message.state === 'in_prompt') this.#unconfirmed.delete(message);
    for (const message of this.#unconfirmed) if (message.state === 'waiting') void this.#steer(message);
  }

  /** The waiting messages, for the text of the next turn. */
  takeWaiting(): string[] {
    const waiting = [...this.#unconfirmed].filter(({ state }) => state === 'waiting');
    for (const message of waiting) message.state = 'in_prompt';
    return waiting.map(({ text }) => text);
  }

  get unread(): string[] {
    return [...this.#unconfirmed].map(({ text }) => text);
  }

  async #steer(message: Message): Promise<void> {
    const target = this.#target;
    const expectedTurnId = target?.turn.activeId ?? null;
    if (!target || expectedTurnId === null) return;
    message.state = 'steering';
    const input = textInput(message.text);
    try {
      await this.client.request(CALLS.turnSteer, { threadId: target.threadId, expectedTurnId, input });
      this.#unconfirmed.delete(message);
    } catch (error) {
      // The turn ended in between, or cannot be steered.
      message.state = 'waiting';
      this.reporter.warning('a message waits for the next turn', { message: (error as Error).message });
    }
  }
}
