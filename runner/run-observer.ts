import type { HookName } from '../src/domain/config.js';
import type { StartOrder } from '../src/domain/effects.js';
import type { Json } from '../src/domain/json.js';
import type { Outcome } from '../src/domain/outcome.js';
import type { Answer, Question, RuntimeEvent } from '../src/domain/run-signal.js';

/** Whoever watches runs without deciding anything: log and transcript. Must not throw. */
export interface RunObserver {
  runBegan(order: StartOrder): void;
  /** A run that an earlier daemon began is being closed; `runEnded` follows as for any other. */
  closingBegan(order: StartOrder): void;
  runtimeEvent(runId: string, event: RuntimeEvent): void;
  agentStderr(runId: string, text: string): void;
  /** Exactly what an agent is sent to begin a turn, in the moment of sending: for the transcript only, never for the log. */
  promptSent(runId: string, prompt: string): void;
  hookEnded(report: HookReport): void;
  /** Exactly one `stepFinished` follows each `stepStarted`. A step of a workflow without `steps:` is not told. */
  stepStarted(runId: string, step: StepStart): void;
  stepFinished(runId: string, step: StepEnd): void;
  /** A person has answered what an agent of this run asked, while it waited. What was said is for the transcript only. */
  answered(runId: string, question: Question, answer: Answer): void;
  /** A person says something to the agent of this run. For the transcript only. */
  messageGiven(runId: string, text: string): void;
  /** For the transcript only. */
  audited(runId: string, kind: string, data: Json): void;
  warned(runId: string | null, message: string, fields: { readonly [key: string]: unknown }): void;
  runEnded(runId: string, outcome: Outcome): void;
}

export interface StepStart {
  readonly stepId: string;
  /** `agent`, `external`, …, or the shape: `parallel`, `fan_out`, `loop`. */
  readonly kind: string;
  /** Which go of a loop or worker of a fan-out it belongs to, outermost first. */
  readonly within: readonly number[];
  /** Its guard says no: its end follows at once. */
  readonly isSkipped: boolean;
}

export interface StepEnd extends StepStart {
  readonly outcome: Outcome | 'skipped';
  readonly tries: number;
  readonly durationMs: number;
}

export interface HookReport {
  readonly runId: string | null;
  readonly issueId: string;
  readonly identifier: string;
  readonly hook: HookName;
  readonly outcome: 'ok' | 'failed' | 'timeout' | 'cancelled';
  readonly durationMs: number;
  /** Why it failed, for a person. */
  readonly message: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
}

/** What an agent asks, for the transcript. `text` is what people read of it. */
export function askedEntry({ id, kind, text, fields }: Question): Json {
  return { question_id: id, kind, text, fields: fields.map((field) => ({ ...field, options: [...field.options] })) };
}

/** What was answered to what, for the transcript. */
export function answeredEntry(question: Question, answer: Answer): Json {
  return {
    question_id: question.id,
    question: question.text,
    by: isLate(answer) ? 'timeout' : 'person',
    decision: answer.kind,
    values: answer.kind === 'input' ? { ...answer.values } : {},
    text: wordsOf(question, answer),
  };
}

function wordsOf({ fields }: Question, answer: Answer): string {
  switch (answer.kind) {
    case 'accept':
      return 'yes';
    case 'decline':
      return isLate(answer) ? 'no, because nobody answered in time' : 'no';
    case 'input': {
      const label = (id: string) => fields.find((field) => field.id === id)?.label || id;
      const entries = Object.entries(answer.values);
      const [only] = entries;
      if (only && entries.length === 1) return only[1];
      return entries.map(([id, value]) => `${label(id)}: ${value}`).join('\n');
    }
  }
}

function isLate(answer: Answer): boolean {
  return answer.kind === 'decline' && answer.isLate === true;
}
