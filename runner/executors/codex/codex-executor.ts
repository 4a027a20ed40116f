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
import { assertWorkspace } from './handshake.js';
import { Reporter } from './reporter.js';
import { CodexSession } from './session.js';
import { codeOfStall, openingText, outcomeOf, StepEnded } from './turn.js';

/**
 * Runs the agent step with `codex app-server`: start → thread → turns → stop. Whatever happens, the process tree is gone before
 * `execute` returns. All sessions of a daemon share one start gate, so that a burst of cold starts does not slow each other beyond
 * `codex.read_timeout_ms`, and one scheduler for fair reading.
 */
export interface CodexExecutorDeps {
  /** Of Baton, for `clientInfo`. */
  readonly version: string;
  /** A line of the agent's stderr: for transcript and log, never progress. */
  onStderr(runId: string, text: string): void;
}

/** The first one is alone: codex makes its database in CODEX_HOME on its first start, and two at once fail over it. */
const STARTS_AT_ONCE = 4;

export function createCodexExecutor(deps: CodexExecutorDeps): Executor<RenderedAgentCli> {
  const starts = new PQueue({ concurrency: 1 });
  const scheduler = new FairScheduler();
  return {
    execute: async (action, context) =>
      refusal(action) ?? new CodexRun(deps, starts, scheduler, action, context).execute(),
  };
}

/** The load has refused this already; should a step ever come by another way, it is not run as something else. */
function refusal({ session }: RenderedAgentCli): FailedOutcome | null {
  if (session === null) return null;
  const message = `an agent step with backend: cli has no sessions, but this one names "${session}": remove the session, or use backend: http`;
  return failure('JobValidation', message);
}

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
    // Whichever of the two loses ends on its own once the session is closed.
    const outcome = await Promise.race([this.#work(), stopped]).catch(outcomeOf);
    signal.removeEventListener('abort', onAbort);
    // From here on nothing is expected of the agent: however long it takes to end it, that is no silence.
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

  /** Inside the gate: from spawn to the reply to `initialize`. */
  async #start(): Promise<void> {
    const { context, deps } = this;
    await assertWorkspace(context.workspace);
    // Looked at in the same breath as the launch: a run that was stopped while it waited starts nothing.
    if (context.signal.aborted) return;
    this.#launching = context.launch(context.config.codex.command);
    const process = await this.#launching;
    this.#reporter.pid = process.pid;
    this.#session = new CodexSession({
      process,
      context,
      reporter: this.#reporter,
      scheduler: this.scheduler,
      onStderr: (text) => deps.onStderr(context.runId, text),
      issueNow: () => this.#issue,
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
    const question = reason === 'input_timeout' ? this.#session?.asking.first : null;
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
