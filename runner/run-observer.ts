import type { HookName } from '../src/domain/config.js';
import type { StartOrder } from '../src/domain/effects.js';
import type { Json } from '../src/domain/json.js';
import type { Outcome } from '../src/domain/outcome.js';
import type { Answer, Question, RuntimeEvent } from '../src/domain/run-signal.js';

/** Watches runs without deciding anything: the log, the transcript, the view of `baton --once`. Must not throw. */
export interface RunObserver {
  runBegan(order: StartOrder): void;
  /** A run that an earlier daemon started is being closed. `runEnded` follows as for any other run. */
  closingBegan(order: StartOrder): void;
  runtimeEvent(runId: string, event: RuntimeEvent): void;
  agentStderr(runId: string, text: string): void;
  /** The exact prompt of a turn, when it is sent. For the transcript only, never for the log. */
  promptSent(runId: string, prompt: string): void;
  hookEnded(report: HookReport): void;
  /** Exactly one `stepFinished` follows each `stepStarted`. The step of a workflow without `steps:` is not reported. */
  stepStarted(runId: string, step: StepStart): void;
  stepFinished(runId: string, step: StepEnd): void;
  /** A person has answered a question of an agent that waits for it. The text of the answer is for the transcript only. */
  answered(runId: string, question: Question, answer: Answer): void;
  /** A person has sent a message to the agent of this run. Its text is for the transcript only. */
  messageGiven(runId: string, text: string): void;
  /** For the transcript only. */
  audited(runId: string, kind: string, data: Json): void;
  warned(runId: string | null, message: string, fields: { readonly [key: string]: unknown }): void;
  runEnded(runId: string, outcome: Outcome): void;
}

/** Calls each observer in turn. */
export function combineObservers(observers: readonly Partial<RunObserver>[]): RunObserver {
  const all =
    (name: keyof RunObserver) =>
    (...args: unknown[]) => {
      for (const observer of observers) {
        const method = observer[name] as ((...args: unknown[]) => void) | undefined;
        method?.apply(observer, args);
      }
    };
  return {
    runBegan: all('runBegan'),
    closingBegan: all('closingBegan'),
    runtimeEvent: all('runtimeEvent'),
    agentStderr: all('agentStderr'),
    promptSent: all('promptSent'),
    hookEnded: all('hookEnded'),
    stepStarted: all('stepStarted'),
    stepFinished: all('stepFinished'),
    answered: all('answered'),
    messageGiven: all('messageGiven'),
    audited: all('audited'),
    warned: all('warned'),
    runEnded: all('runEnded'),
  };
}

export interface StepStart {
  readonly stepId: string;
  /** `agent`, `external`, …, or the shape: `parallel`, `fan_out`, `loop`. */
  readonly kind: string;
  /** The numbers of the loop iterations and fan-out workers around it, outermost first. */
  readonly within: readonly number[];
  /** The guard is false, so the step ends at once. */
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
  /** `held`: the hook has ended well, but its push waits for a person. */
  readonly outcome: 'ok' | 'held' | 'failed' | 'timeout' | 'cancelled';
  readonly durationMs: number;
  /** The reason of a failure, for people. */
  readonly message: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
}

/** A question of an agent, for the transcript. */
export function questionEntry({ id, kind, text, fields, isCut }: Question, wholeText = text): Json {
  return {
    question_id: id,
    kind,
    text: wholeText,
    ...(isCut ? { is_cut: true } : {}),
    fields: fields.map((field) => ({ ...field, options: [...field.options] })),
  };
}

/** An answer with its question, for the transcript. */
export function answerEntry(question: Question, answer: Answer): Json {
  return {
    question_id: question.id,
    question: question.text,
    by: isLate(answer) ? 'timeout' : 'person',
    decision: answer.kind,
    values: answer.kind === 'input' ? { ...answer.values } : {},
    text: answerText(question, answer),
  };
}

function answerText({ fields }: Question, answer: Answer): string {
  switch (answer.kind) {
    case 'accept':
      return 'yes';
    case 'decline':
      return isLate(answer) ? 'no, because there was no answer in time' : 'no';
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
