import type { Logger } from 'pino';
import { abortsOnFailure } from '../../hooks/run-hook.js';
import {
  answerEntry,
  type HookReport,
  type RunObserver,
  type StepEnd,
  type StepStart,
} from '../../runner/run-observer.js';
import type { Activity } from '../api/activity.js';
import { BoundedMap } from '../domain/bounded-map.js';
import type { StartOrder } from '../domain/effects.js';
import { fieldsOf, type Json, textOf } from '../domain/json.js';
import type { Answer, Question, RuntimeEvent, RuntimeEventType, TokenTotals } from '../domain/run-signal.js';
import type { Redactor } from '../logging/redact.js';
import { openTranscript, type Transcript } from '../logging/transcript.js';
import { cutText } from '../text/phrases.js';
import { sentenceOf } from '../text/run-sentences.js';

interface LoggedRun {
  /** Bound to the run; the logger of a session is its child. */
  readonly base: Logger;
  log: Logger;
  readonly transcript: Transcript;
  /** An earlier daemon started the run, so its duration and tokens are unknown. */
  readonly isClosing: boolean;
  /** The number of events by type. */
  readonly counts: Map<RuntimeEventType, number>;
  /** Monotonic, in milliseconds. */
  readonly beganAtMs: number;
  /** The thread that the run resumes. */
  readonly resumed: string | null;
  /** Logged when something else happens: the end of the run may report the same failure. */
  failedSteps: FailedStep[];
}

interface FailedStep {
  readonly step: string;
  readonly code: string;
  readonly detail: string;
  readonly fields: object;
}

/** A busy agent must not flood the log. The transcript has all events. */
const MAX_LINES_PER_TYPE = 100;

/**
 * Writes each run to three places: a few lines to the log, everything to the transcript, and the latest entries to memory for the page.
 * The identity of a run is bound to its log lines once, its session as soon as it is known.
 */
export class RunLog implements RunObserver {
  readonly #open = new Map<string, LoggedRun>();
  readonly #closing = new Set<Promise<void>>();
  readonly #tokens = new RunTokens();

  constructor(
    private readonly log: Logger,
    private readonly transcripts: string,
    private readonly redactor: Redactor,
    private readonly activity: Activity,
  ) {}

  runBegan(order: StartOrder): void {
    this.#begin(order, 'run_began');
  }

  /** Continues the transcript of the earlier daemon. */
  closingBegan(order: StartOrder): void {
    this.#begin(order, 'closing_began');
  }

  #begin(order: StartOrder, kind: 'run_began' | 'closing_began'): void {
    const { runId, issue, number, reason, attempt } = order;
    const log = this.log.child({ issue_id: issue.id, issue_identifier: issue.identifier, run_id: runId });
    const onError = (error: Error) => log.warn({ detail: error.message }, 'transcript cannot be written');
    const file = openTranscript(this.transcripts, runId, {
      redactor: this.redactor,
      onError,
      continues: kind === 'closing_began',
    });
    const transcript: Transcript = {
      ...file,
      write: (what, data) => {
        file.write(what, data);
        this.activity.write(runId, { time: new Date().toISOString(), kind: what, data });
      },
    };
    transcript.write(kind, {
      run_id: runId,
      issue_id: issue.id,
      identifier: issue.identifier,
      number,
      reason,
      attempt,
    });
    this.#open.set(runId, {
      ...{ base: log, log, transcript, isClosing: kind === 'closing_began', counts: new Map() },
      ...{ beganAtMs: performance.now(), resumed: order.resume?.threadId ?? null, failedSteps: [] },
    });
  }

  runtimeEvent(runId: string, event: RuntimeEvent): void {
    const run = this.#open.get(runId);
    if (!run) return;
    if (event.type === 'session_started' && event.sessionId) run.log = run.base.child({ session_id: event.sessionId });
    run.transcript.write(event.type, event);
    this.#tokens.add(runId, event, run.resumed);
    const [level, message] = isPiece(event) ? PIECE : LINES[event.type];
    if (level === 'trace' || level === 'debug') {
      // The sentence costs more than everything else here.
      if (run.log.isLevelEnabled(level)) run.log[level](eventFields(event), message);
      return;
    }
    const count = (run.counts.get(event.type) ?? 0) + 1;
    run.counts.set(event.type, count);
    run.log[count <= MAX_LINES_PER_TYPE ? level : 'debug'](eventFields(event), message);
    if (count === MAX_LINES_PER_TYPE)
      run.log.warn({ event: event.type, count }, 'more of these are in the transcript only');
  }

  agentStderr(runId: string, text: string): void {
    this.#open.get(runId)?.transcript.write('stderr', text);
    this.#open.get(runId)?.log.debug({ text }, 'agent stderr');
  }

  promptSent(runId: string, prompt: string): void {
    this.#open.get(runId)?.transcript.write('prompt', prompt);
  }

  hookEnded(report: HookReport): void {
    const { runId, issueId, identifier, hook, outcome, durationMs, message, ...output } = report;
    const run = runId === null ? undefined : this.#open.get(runId);
    run?.transcript.write('hook', { hook, outcome, duration_ms: durationMs, message, ...output });
    const log = run?.log ?? this.log.child({ issue_id: issueId, issue_identifier: identifier });
    const fields = { hook, duration_ms: Math.round(durationMs), ...(message === null ? {} : { detail: message }) };
    if (outcome === 'ok') log.info(fields, 'hook finished');
    else if (outcome === 'held') log.info(fields, 'hook finished, but its push waits for a person');
    // A hook whose failure ends the run is reported by the end of the run.
    else log[abortsOnFailure(hook) ? 'debug' : 'warn']({ ...fields, outcome }, 'hook did not finish well');
  }

  /** A skipped step is not reported as started. */
  stepStarted(runId: string, step: StepStart): void {
    const run = this.#open.get(runId);
    if (!run || step.isSkipped) return;
    logFailedSteps(run);
    run.transcript.write('step_started', { step: step.stepId, kind: step.kind, within: step.within });
    run.log.info(stepFields(step), 'step started');
  }

  stepFinished(runId: string, { outcome, tries, durationMs, ...step }: StepEnd): void {
    const run = this.#open.get(runId);
    if (!run) return;
    const duration = outcome === 'skipped' ? {} : { tries, duration_ms: Math.round(durationMs) };
    const { stepId, kind, within } = step;
    run.transcript.write('step_finished', { step: stepId, kind, within, ...duration, outcome });
    const fields = { ...stepFields(step), ...duration };
    if (outcome === 'skipped') return run.log.info(fields, 'step skipped');
    if (outcome.state !== 'success') {
      const { code, message: detail } = outcome.error;
      const failure = { ...fields, outcome: outcome.state, code, detail };
      if (outcome.state === 'cancelled') run.log.info(failure, 'step did not finish well');
      else run.failedSteps.push({ step: stepId, code, detail, fields: failure });
      return;
    }
    logFailedSteps(run);
    run.log.info(fields, 'step finished');
  }

  answered(runId: string, question: Question, answer: Answer): void {
    const run = this.#open.get(runId);
    run?.transcript.write('answered', answerEntry(question, answer));
    if (answer.kind === 'decline' && answer.isLate) return;
    run?.log.info({ question_id: question.id, decision: answer.kind }, 'a person answered');
  }

  messageGiven(runId: string, text: string): void {
    const run = this.#open.get(runId);
    run?.transcript.write('message', { text });
    run?.log.info('a person sent a message');
  }

  audited(runId: string, kind: string, data: Json): void {
    this.#open.get(runId)?.transcript.write(kind, data);
  }

  warned(...[runId, message, fields]: Parameters<RunObserver['warned']>): void {
    (this.#open.get(runId ?? '')?.log ?? this.log).warn(fields, message);
  }

  runEnded(...[runId, outcome]: Parameters<RunObserver['runEnded']>): void {
    const run = this.#open.get(runId);
    if (!run) return;
    this.#open.delete(runId);
    run.transcript.write('run_ended', outcome);
    this.activity.ended(runId);
    const tokens = this.#tokens.take(runId);
    const error = outcome.state === 'success' ? null : outcome.error;
    const isOurs = (failed: FailedStep) => failed.code === error?.code && failed.detail === error.message;
    const cause = run.failedSteps.find(isOurs);
    run.failedSteps = run.failedSteps.filter((failed) => !isOurs(failed));
    logFailedSteps(run);
    const fields = {
      outcome: outcome.state,
      ...(error ? { code: error.code, detail: cutText(error.message, MAX_DETAIL) } : {}),
      ...(cause ? { step: cause.step } : {}),
      ...{ turns: outcome.meta.turns ?? 0, tokens, duration_ms: Math.round(performance.now() - run.beganAtMs) },
    };
    if (run.isClosing) run.log.info('run closed');
    else run.log.info(fields, 'run ended');
    const closing = run.transcript.close().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  /** Settles when every transcript is on disk. */
  async close(): Promise<void> {
    for (const { transcript } of this.#open.values()) this.#closing.add(transcript.close());
    await Promise.all(this.#closing);
  }
}

function logFailedSteps(run: LoggedRun): void {
  for (const { fields } of run.failedSteps) run.log.warn(fields, 'step did not finish well');
  run.failedSteps = [];
}

function stepFields({ stepId, kind, within }: StepStart): object {
  return { step: stepId, kind, ...(within.length === 0 ? {} : { within }) };
}

/** For the log line of an event: numbers, names and one short sentence. Everything else is in the transcript only. */
function eventFields(event: RuntimeEvent): object {
  const { type, method, turnId, usage, data } = event;
  const detail = detailOf(event);
  return {
    event: type,
    ...(detail === null ? {} : { detail }),
    ...(typeof data?.code === 'string' ? { code: data.code } : {}),
    ...(type === 'session_started' && typeof data?.turn === 'number' ? { turn: data.turn } : {}),
    ...(method ? { method } : {}),
    ...(turnId ? { turn_id: turnId } : {}),
    ...(usage ? { usage } : {}),
  };
}

/** Events that end a run are at `debug`, because the end of the run reports them with code and detail. */
const LINES: { readonly [type in RuntimeEventType]: readonly ['debug' | 'info' | 'warn', string] } = {
  session_started: ['info', 'turn began'],
  turn_completed: ['info', 'turn completed'],
  turn_failed: ['debug', 'turn failed'],
  turn_cancelled: ['debug', 'turn cancelled'],
  turn_ended_with_error: ['debug', 'turn broke off'],
  startup_failed: ['debug', 'agent could not start'],
  turn_input_required: ['debug', 'agent asks a question that may not be answered'],
  approval_auto_approved: ['info', 'request of the agent was approved'],
  unsupported_tool_call: ['warn', 'agent called a tool that does not exist'],
  malformed: ['warn', 'agent wrote a line that cannot be read'],
  other_message: ['debug', 'agent did something unexpected'],
  notification: ['debug', 'message of the agent'],
};

const PIECE = ['trace', LINES.notification[1]] as const;

/** For texts of agents and errors. */
const MAX_DETAIL = 300;

/** A part of a text whose whole follows at its end. */
function isPiece({ type, method = '' }: RuntimeEvent): boolean {
  return type === 'notification' && /delta$/i.test(method);
}

/** What the event is about. Not escaped here: the logger neutralises every line. */
function detailOf(event: RuntimeEvent): string | null {
  switch (event.type) {
    case 'session_started':
    case 'turn_completed':
      return null;
    case 'startup_failed':
    case 'turn_failed':
    case 'turn_cancelled':
    case 'turn_ended_with_error':
      return shortened(event.data?.message);
    case 'malformed':
      return shortened(event.data?.reason);
    default:
      return sentenceOf(event);
  }
}

function shortened(value: unknown): string | null {
  const text = textOf(value);
  return text === null ? null : cutText(text, MAX_DETAIL);
}

const MAX_THREADS = 1_000;

/**
 * Counts the tokens of each run for the log; the core has its own count for budgets. Agents report totals of threads, and several runs may
 * use one thread, so only the increase since the last report counts. For a thread of an earlier daemon, counting starts at its first report.
 */
class RunTokens {
  readonly #threads = new BoundedMap<string, TokenTotals>(MAX_THREADS);
  readonly #spent = new Map<string, number>();

  /** `resumed`: the thread that the run resumes, with its name outside of runs. */
  add(runId: string, { usage, threadId, data }: RuntimeEvent, resumed: string | null): void {
    const thread = textOf(fieldsOf(data).threadId) ?? threadId;
    if (!usage || thread === undefined) return;
    const isOld = resumed === thread || resumed?.endsWith(`#${thread}`) === true;
    const before = this.#threads.get(thread) ?? (isOld ? usage : NONE);
    this.#spent.set(runId, (this.#spent.get(runId) ?? 0) + Math.max(0, billable(usage) - billable(before)));
    this.#threads.set(thread, usage);
  }

  /** Removes and returns the count of a run that has ended, as for budgets: uncached input and output. */
  take(runId: string): number {
    const spent = this.#spent.get(runId) ?? 0;
    this.#spent.delete(runId);
    return spent;
  }
}

const NONE: TokenTotals = { input: 0, cached: 0, output: 0 };

function billable({ input, cached, output }: TokenTotals): number {
  return input - cached + output;
}
