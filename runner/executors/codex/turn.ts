import type { Clock } from '../../../src/domain/clock.js';
import { BatonError, type ErrorCode, scopeOf, toBatonError } from '../../../src/domain/errors.js';
import type { Comment, Issue } from '../../../src/domain/issue.js';
import { type Fields, fieldsOf } from '../../../src/domain/json.js';
import { type FailedOutcome, failureOf } from '../../../src/domain/outcome.js';
import type { Answer, Question } from '../../../src/domain/run-signal.js';
import type { RenderedAgentCli } from '../../../src/domain/steps/plan.js';
import type { StepContext } from '../executor.js';

/**
 * One turn, from `turn/start` to its end. It is `starting` until its id is known, `running` until the agent says that it `ended`
 * or we `abandoned` it; the first end counts. Its time limit is in awake time and stands still while a person is asked.
 */
export interface FinishedTurn {
  readonly id: string;
  readonly status: string;
  readonly error: unknown;
}

export class Turn {
  readonly finished: Promise<FinishedTurn>;
  #state: 'starting' | 'running' | 'ended' | 'abandoned' = 'starting';
  #id: string | null = null;
  /** Ends that came before the reply to `turn/start` told which turn is ours. */
  #early: FinishedTurn[] = [];
  #resolve: (turn: FinishedTurn) => void = () => {};
  #reject: (error: Error) => void = () => {};
  #leftMs: number;
  #running: { readonly sinceMs: number; cancel(): void } | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly timeoutMs: number,
  ) {
    this.#leftMs = timeoutMs;
    this.finished = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Awaited only after the reply to turn/start; it may be abandoned before.
    this.finished.catch(() => {});
    this.resumeClock();
  }

  /** `null` while it is not running: nothing to steer or to interrupt. */
  get activeId(): string | null {
    return this.#state === 'running' ? this.#id : null;
  }

  /** The agent has not said that this turn ended. */
  get isUnfinished(): boolean {
    return this.#state !== 'ended';
  }

  get id(): string | null {
    return this.#id;
  }

  begin(id: string): void {
    this.#id = id;
    if (this.#state !== 'starting') return;
    this.#state = 'running';
    const early = this.#early.find((turn) => turn.id === id);
    if (early) this.end(early);
  }

  end(turn: FinishedTurn): void {
    if (this.#state === 'starting') this.#early = [...this.#early.slice(-9), turn];
    if (this.#state !== 'running' || turn.id !== this.#id) return;
    this.#state = 'ended';
    this.pauseClock();
    this.#resolve(turn);
  }

  abandon(error: Error): void {
    if (this.#state === 'ended' || this.#state === 'abandoned') return;
    this.#state = 'abandoned';
    this.pauseClock();
    this.#reject(error);
  }

  pauseClock(): void {
    if (!this.#running) return;
    this.#leftMs -= this.clock.now().awakeMs - this.#running.sinceMs;
    this.#running.cancel();
    this.#running = null;
  }

  resumeClock(): void {
    if (this.#running || this.#state === 'ended' || this.#state === 'abandoned') return;
    const cancel = this.clock.after(this.#leftMs, () => this.#timeOut());
    this.#running = { sinceMs: this.clock.now().awakeMs, cancel };
  }

  #timeOut(): void {
    this.abandon(new BatonError('turn_timeout', `the turn took longer than ${this.timeoutMs} ms`));
  }
}

/** What the first turn of a run says. `resumed`: the thread goes on, so the agent already knows its issue. */
export function openingText({ prompt }: RenderedAgentCli, context: StepContext, resumed: boolean): string {
  const given = context.resume?.answer ?? null;
  const answer = given ? answerText(given.question, given.answer) : null;
  if (!resumed) return answer === null ? prompt : `${prompt}\n\n${answer}`;
  const text = answer ?? context.continuationPrompt(context.issue, 1);
  const unheard = unheardComments(context.issue, context.resume?.heardAtMs ?? null);
  return unheard.length === 0 ? text : `${text}\n\n${commentsText(unheard)}`;
}

/** The clocks of trackers and ours differ. */
const CLOCKS_APART_MS = 60_000;

/** What was said while the thread stood still. Of what nobody dated nobody knows. */
function unheardComments({ comments }: Issue, heardAtMs: number | null): readonly Comment[] {
  if (heardAtMs === null) return comments;
  return comments.filter(({ created_at: at }) => at === null || Date.parse(at) > heardAtMs - CLOCKS_APART_MS);
}

function commentsText(comments: readonly Comment[]): string {
  const said = comments.map(({ author, body }) => `${author ?? 'Somebody'}: ${body}`);
  return ['What was said about the issue meanwhile, oldest first:', ...said].join('\n\n');
}

export function withMessages(text: string, messages: readonly string[]): string {
  return [text, ...messages.map((message) => `A message from a person:\n${message}`)].join('\n\n');
}

function answerText(question: Question, answer: Answer): string {
  return `You asked a person:\n${question.text}\n\nThe answer: ${verdict(question, answer)}`;
}

function verdict(question: Question, answer: Answer): string {
  switch (answer.kind) {
    case 'accept':
      return 'yes. Go ahead; if you are asked to confirm it again, that is expected.';
    case 'decline':
      return question.kind === 'approval'
        ? 'no. Do not do this; find another way, or say why there is none.'
        : 'none. Decide for yourself, or say why you cannot go on without it.';
    case 'input': {
      const label = (id: string) => question.fields.find((field) => field.id === id)?.label ?? id;
      return Object.entries(answer.values)
        .map(([id, value]) => `\n${label(id)}: ${value}`)
        .join('');
    }
  }
}

/** Carries an outcome that is more than a code and a message (a question, a reset time, a state) up to the executor. */
export class StepEnded extends Error {
  override readonly name = 'StepEnded';

  constructor(readonly outcome: FailedOutcome) {
    super(outcome.error.message);
  }
}

export function outcomeOf(error: unknown): FailedOutcome {
  if (error instanceof StepEnded) return error.outcome;
  const known = toBatonError(error);
  const state = known.code === 'turn_timeout' ? 'timeout' : 'failed';
  return failureOf(known, { state });
}

/** `codexErrorInfo` of a failed turn → our code. What would hit every issue alike becomes a code that holds the daemon. */
const BY_NAME: ReadonlyMap<string, ErrorCode> = new Map([
  ['unauthorized', 'agent_unauthorized'],
  ['usageLimitExceeded', 'agent_quota'],
  ['rateLimitExceeded', 'agent_quota'],
  ['modelNotFound', 'agent_model_not_found'],
  ['serverOverloaded', 'agent_unreachable'],
]);

const BY_STATUS: ReadonlyMap<unknown, ErrorCode> = new Map([
  [401, 'agent_unauthorized'],
  [403, 'agent_unauthorized'],
  [429, 'agent_quota'],
  [502, 'agent_unreachable'],
  [503, 'agent_unreachable'],
  [504, 'agent_unreachable'],
]);

const CONNECTION_FAULTS = [
  'httpConnectionFailed',
  'responseStreamConnectionFailed',
  'responseStreamDisconnected',
  'responseTooManyFailedAttempts',
] as const;

export function codeOfTurnError(codexErrorInfo: unknown): ErrorCode {
  if (typeof codexErrorInfo === 'string') return BY_NAME.get(codexErrorInfo) ?? 'turn_failed';
  const info = fieldsOf(codexErrorInfo);
  const fault = CONNECTION_FAULTS.find((name) => Object.hasOwn(info, name));
  if (!fault) return 'turn_failed';
  const status = fieldsOf(info[fault]).httpStatusCode;
  // Without a status nobody answered; with another one (500, 404, …) it may be the fault of this one request.
  return status === null || status === undefined ? 'agent_unreachable' : (BY_STATUS.get(status) ?? 'turn_failed');
}

/** A silent agent that was reconnecting all the while is not stalled: its model service is gone. */
export function codeOfStall(lastRetryError: Fields | null): ErrorCode {
  if (!lastRetryError) return 'stall_timeout';
  const code = codeOfTurnError(lastRetryError.codexErrorInfo);
  return scopeOf(code) === 'daemon' ? code : 'agent_unreachable';
}
