import PQueue from 'p-queue';
import type { Json } from '../../../src/domain/json.js';
import {
  type AbortReason,
  cancelled,
  type FailedOutcome,
  failure,
  type Outcome,
  success,
} from '../../../src/domain/outcome.js';
import type { RenderedAgentCli } from '../../../src/domain/steps/plan.js';
import type { ContainedProcess } from '../../contain/process.js';
import type { Executor, StepContext } from '../executor.js';
import { FairScheduler } from '../read-lines.js';
import { codeOfStall, outcomeOf, StepEnded } from './agent-errors.js';
import { assertWorkspace } from './handshake.js';
import { Reporter } from './reporter.js';
import { CodexSession } from './session.js';
import { openingText } from './turn-text.js';

export interface CodexExecutorDeps {
  /** Version of Baton, for `clientInfo`. */
  readonly version: string;
}

/** After the first start, which is alone: codex creates its database in CODEX_HOME then, and two at once would fail. */
const STARTS_AT_ONCE = 4;

/**
 * Runs agent steps with `codex app-server`: start → thread → turns → stop. The process tree is gone before `execute` returns. All
 * sessions of a daemon share one start queue, so that cold starts do not delay each other beyond `codex.read_timeout_ms`, and one
 * scheduler for fair reading.
 */
export function createCodexExecutor(deps: CodexExecutorDeps): Executor<RenderedAgentCli> {
  const starts = new PQueue({ concurrency: 1 });
  const scheduler = new FairScheduler();
  return {
    execute: async (action, context) =>
      refusal(action) ?? new CodexRun(deps, starts, scheduler, action, context).execute(),
  };
}

/** Loading the workflow rejects this already; this check protects against any other way to get here. */
function refusal({ session }: RenderedAgentCli): FailedOutcome | null {
  if (session === null) return null;
  const message = `an agent step with backend: cli has no sessions, but this one names "${session}": remove the session, or use backend: http`;
  return failure('JobValidation', message);
}

/**
 * One agent step: waiting for a start, starting, then in the thread with one turn after the other, until a turn fails, the issue is no
 * longer active, the turns are used up or the step is aborted. `#stop` follows every end.
 */
class CodexRun {
  readonly #reporter: Reporter;
  #launching: Promise<ContainedProcess> | null = null;
  #session: CodexSession | null = null;
  #issue: StepContext['issue'];

  constructor(
    private readonly deps: CodexExecutorDeps,
    private readonly starts: PQueue,
    private readonly scheduler: FairScheduler,
    private readonly action: RenderedAgentCli,
    private readonly context: StepContext,
  ) {
    this.#reporter = new Reporter(context);
    this.#issue = context.issue;
  }

  async execute(): Promise<Outcome> {
    const { signal } = this.context;
    let onAbort = () => {};
    const stopped = new Promise<never>((_, reject) => {
      onAbort = () => {
        const ended = new StepEnded(this.#stoppedOutcome(signal.reason));
        this.#session?.abandonTurn(ended);
        reject(ended);
      };
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
    });
    // When the abort wins, the other promise ends once the session is closed.
    const outcome = await Promise.race([this.#work(), stopped]).catch(outcomeOf);
    signal.removeEventListener('abort', onAbort);
    // From here on the agent is not expected to report progress, however long stopping takes.
    this.context.emit({ type: 'phase', phase: 'finishing' });
    return this.#stop(outcome);
  }

  async #work(): Promise<Outcome> {
    await this.starts.add(() => this.#start());
    const session = this.#mustHaveSession();
    const resumed = await session.openThread();
    let text = openingText(this.action, this.context, resumed);
    for (;;) {
      await session.runTurn(text);
      const issue = await this.context.refreshIssue();
      if (issue === null) return success(this.#output('issue_moved'));
      this.#issue = issue;
      session.tools.endIfLimited();
      if (session.turns >= this.action.maxTurns) return success(this.#output('max_turns'));
      text = this.context.continuationPrompt(issue, session.turns + 1);
    }
  }

  /** Holds its place in the start queue from the spawn to the reply to `initialize`. */
  async #start(): Promise<void> {
    const { context, deps } = this;
    await assertWorkspace(context.workspace);
    // Checked right before the launch: a run that was stopped while it waited must not start a process.
    if (context.signal.aborted) return;
    this.#launching = context.launch(context.config.codex.command);
    const process = await this.#launching;
    this.#reporter.pid = process.pid;
    this.#session = new CodexSession({
      process,
      context,
      reporter: this.#reporter,
      scheduler: this.scheduler,
      currentIssue: () => this.#issue,
    });
    if (context.signal.aborted) return;
    await this.#session.initialize(deps.version);
    this.starts.concurrency = STARTS_AT_ONCE;
  }

  async #stop(outcome: Outcome): Promise<Outcome> {
    const process = await this.#launching?.catch(() => null);
    const reported = await this.#report(outcome).catch(outcomeOf);
    this.#reporter.end();
    const result = await process?.stop();
    const meta = this.#meta();
    if (!result || result.gone) return { ...reported, meta };
    const { survivors, whenGone } = result;
    await whenGone;
    return failure('unkillable', `processes outlived SIGKILL: ${survivors.join(', ')}`, { meta });
  }

  async #report(outcome: Outcome): Promise<Outcome> {
    const failed = outcome.state === 'success' ? null : outcome;
    if (failed && failed.state !== 'cancelled' && !this.#session?.turns) {
      this.#reporter.event('startup_failed', { data: { code: failed.error.code, message: failed.error.message } });
    }
    await this.#session?.close(failed);
    return outcome;
  }

  #stoppedOutcome(reason: AbortReason): FailedOutcome {
    const question = reason === 'input_timeout' ? this.#session?.questions.oldest : null;
    const outcome = cancelled(reason, question ? { question } : {});
    if (reason !== 'stalled') return outcome;
    const code = codeOfStall(this.#session?.log.progress.retryError ?? null);
    return failure(code, outcome.error.message, { state: 'cancelled' });
  }

  #output(stopReason: string): Json {
    const { threadId, sessionId } = this.#reporter;
    const { log, turns } = this.#mustHaveSession();
    return {
      last_message: log.lastMessage,
      session_id: sessionId,
      thread_id: threadId,
      turns,
      usage: { ...log.usage.totalsOf(threadId ?? '') },
      stop_reason: stopReason,
    };
  }

  #meta(): Outcome['meta'] {
    const { threadId } = this.#reporter;
    return { ...(threadId === null ? {} : { threadId }), turns: this.#session?.turns ?? 0 };
  }

  #mustHaveSession(): CodexSession {
    if (!this.#session) throw new StepEnded(this.#stoppedOutcome(this.context.signal.reason));
    return this.#session;
  }
}
