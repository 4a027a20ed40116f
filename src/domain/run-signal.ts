import type { Question } from './question.js';
import type { RuntimeEvent, TokenTotals } from './runtime-event.js';

/**
 * What a run says while it lives. `event` is for people (log, transcript, page); the others are what the core decides
 * on, already classified by the executor: only it knows which of its messages are progress.
 */
export type RunSignal =
  | { readonly type: 'event'; readonly event: RuntimeEvent }
  /** `preparing`: workspace, hooks, prompt. `agent`: the stall clock runs. `finishing`: after_run. */
  | { readonly type: 'phase'; readonly phase: RunPhase }
  /** Turn, item, delta, tool or approval traffic. `openItems`: commands, tools and reasoning that have begun and not ended. */
  | { readonly type: 'progress'; readonly openItems: number }
  /** The step that was begun last; there may be others beside it. */
  | { readonly type: 'step'; readonly stepId: string; readonly kind: string }
  /** SHA-256 of what the run is about and of what its agent is told. */
  | { readonly type: 'rendered'; readonly issueHash: string; readonly promptHash: string }
  /** Who does the work, as far as it says so. */
  | { readonly type: 'agent_known'; readonly version: string | null; readonly model: string | null }
  | { readonly type: 'session'; readonly threadId: string; readonly turnId: string; readonly turn: number }
  | { readonly type: 'usage'; readonly threadId: string; readonly totals: TokenTotals }
  | { readonly type: 'asked'; readonly question: Question }
  | { readonly type: 'question_closed'; readonly questionId: string }
  /** Tools of the host that are at work for the run: each may be moving its issue, and the tracker may show that before it returns. */
  | { readonly type: 'host_calls'; readonly open: number }
  /** The run's own tool moved its own issue. */
  | { readonly type: 'moved_issue'; readonly state: string };

export type RunPhase = 'preparing' | 'agent' | 'finishing';
