import type { Logger } from 'pino';
import type { HookReport, RunObserver, StepEnd, StepStart } from '../runner/run-observer.js';
import type { StartOrder } from './domain/effects.js';
import type { Json } from './domain/json.js';
import type { RuntimeEvent, RuntimeEventType } from './domain/runtime-event.js';
import type { Redactor } from './logging/redact.js';
import { openTranscript, type Transcript } from './logging/transcript.js';
import { sentenceOf } from './narrate/sentence-of.js';
import type { Activity } from './status/activity.js';

interface OpenRun {
  /** With the identity of the run; a session is bound to a child of it. */
  readonly base: Logger;
  log: Logger;
  readonly transcript: Transcript;
  /** Another daemon began it: how much it did is not known here. */
  readonly isClosing: boolean;
  /** How often each type of event came up. */
  readonly counts: Map<RuntimeEventType, number>;
}

/** What an operator wants to read by default, and what is for looking closely. */
const LEVELS: { readonly [type in RuntimeEventType]: 'debug' | 'info' | 'warn' } = {
  session_started: 'info',
  turn_completed: 'info',
  approval_auto_approved: 'info',
  startup_failed: 'warn',
  turn_failed: 'warn',
  turn_cancelled: 'info',
  turn_ended_with_error: 'warn',
  turn_input_required: 'warn',
  unsupported_tool_call: 'warn',
  malformed: 'warn',
  notification: 'debug',
  other_message: 'debug',
};

/** An agent that floods must not push everything else out of the log; the transcript has it all. */
const MAX_LINES_PER_TYPE = 100;

/**
 * Runs, told three times: a few lines in the log, everything in the run's transcript and, for those who look right now, in what is
 * kept of it in memory. A run's identity is bound to its log lines
 * once, its session as soon as it is known.
 */
export class RunLog implements RunObserver {
  readonly #open = new Map<string, OpenRun>();
  readonly #closing = new Set<Promise<void>>();

  constructor(
    private readonly log: Logger,
    private readonly transcripts: string,
    private readonly redactor: Redactor,
    private readonly activity: Activity,
  ) {}

  runBegan(order: StartOrder): void {
    this.#begin(order, 'run_began');
  }

  /** Goes on in the transcript that the daemon before began. */
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
    this.#open.set(runId, { base: log, log, transcript, isClosing: kind === 'closing_began', counts: new Map() });
  }

  runtimeEvent(runId: string, event: RuntimeEvent): void {
    const run = this.#open.get(runId);
    if (!run) return;
    if (event.type === 'session_started' && event.sessionId) run.log = run.base.child({ session_id: event.sessionId });
    run.transcript.write(event.type, event);
    const count = (run.counts.get(event.type) ?? 0) + 1;
    run.counts.set(event.type, count);
    if (count <= MAX_LINES_PER_TYPE) run.log[LEVELS[event.type]](fieldsOf(event), event.type);
    else run.log.debug(fieldsOf(event), event.type);
    if (count === MAX_LINES_PER_TYPE && LEVELS[event.type] !== 'debug')
      run.log.warn({ type: event.type, count }, 'more of these are in the transcript only');
  }

  agentStderr(runId: string, text: string): void {
    this.#open.get(runId)?.transcript.write('stderr', text);
    this.#open.get(runId)?.log.debug({ text }, 'agent stderr');
  }

  promptRendered(runId: string, prompt: string): void {
    this.#open.get(runId)?.transcript.write('prompt', prompt);
  }

  hookEnded(report: HookReport): void {
    const { runId, issueId, identifier, hook, outcome, durationMs, message, ...output } = report;
    const run = runId === null ? undefined : this.#open.get(runId);
    run?.transcript.write('hook', { hook, outcome, duration_ms: durationMs, message, ...output });
    const log = run?.log ?? this.log.child({ issue_id: issueId, issue_identifier: identifier });
    const fields = { hook, duration_ms: Math.round(durationMs), ...(message === null ? {} : { detail: message }) };
    if (outcome === 'ok') log.info(fields, 'hook finished');
    else log.warn({ ...fields, outcome }, 'hook did not finish well');
  }

  stepStarted(runId: string, step: StepStart): void {
    const run = this.#open.get(runId);
    run?.transcript.write('step_started', { step: step.stepId, kind: step.kind, within: step.within });
    if (!step.isSkipped) run?.log.info(stepFields(step), 'step started');
  }

  stepFinished(runId: string, { outcome, tries, durationMs, ...step }: StepEnd): void {
    const run = this.#open.get(runId);
    const duration = { tries, duration_ms: Math.round(durationMs) };
    run?.transcript.write('step_finished', {
      step: step.stepId,
      kind: step.kind,
      within: step.within,
      ...duration,
      outcome,
    });
    if (outcome === 'skipped') run?.log.info(stepFields(step), 'step skipped');
    else if (outcome.state === 'success') run?.log.info({ ...stepFields(step), ...duration }, 'step finished');
    else {
      const { code, message } = outcome.error;
      const fields = { ...stepFields(step), ...duration, outcome: outcome.state, code, detail: message };
      run?.log[outcome.state === 'cancelled' ? 'info' : 'warn'](fields, 'step did not finish well');
    }
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
    const code = outcome.state === 'success' ? null : outcome.error.code;
    if (run.isClosing) run.log.info('run closed');
    else
      run.log.info({ outcome: outcome.state, ...(code ? { code } : {}), turns: outcome.meta.turns ?? 0 }, 'run ended');
    const closing = run.transcript.close().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  /** Settles when every transcript is on disk. */
  async close(): Promise<void> {
    for (const { transcript } of this.#open.values()) this.#closing.add(transcript.close());
    await Promise.all(this.#closing);
  }
}

function stepFields({ stepId, kind, within }: StepStart): object {
  return { step: stepId, kind, ...(within.length === 0 ? {} : { within }) };
}

/** Numbers and names, and one short sentence: all that agents write belongs into the transcript. */
function fieldsOf(event: RuntimeEvent): object {
  const { method, turnId, usage, data } = event;
  const code = typeof data?.code === 'string' ? { code: data.code } : {};
  const sentence = sentenceOf(event);
  return {
    ...(sentence === null ? {} : { detail: sentence }),
    ...(method ? { method } : {}),
    ...(turnId ? { turn_id: turnId } : {}),
    ...(usage ? { usage } : {}),
    ...code,
  };
}
