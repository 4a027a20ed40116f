import type { State } from '../../orchestrator/state.js';
import type { Durable } from '../../src/domain/durable.js';
import type { OrchestratorEvent } from '../../src/domain/events.js';
import type { LawChecker } from './law-checker.js';

/** The tokens and questions of runs, as the world knows them. */
export class RunTotals {
  /** Absolute totals by thread, and the sum by issue. */
  readonly #ofThread = new Map<string, number>();
  readonly #ofIssue = new Map<string, number>();
  /** Questions that were open on disk when this life began, by run. */
  readonly #asking = new Map<string, { readonly issueId: string; readonly questionId: string }>();

  /** Returns the total of the thread without its one output token. */
  spend(threadId: string, issueId: string, more: number): number {
    const before = this.#ofThread.get(threadId);
    const total = (before ?? 0) + more;
    this.#ofThread.set(threadId, total);
    this.#ofIssue.set(issueId, (this.#ofIssue.get(issueId) ?? 0) + more + (before === undefined ? 1 : 0));
    return total;
  }

  restarted({ claims }: Durable, onInputTimeout: 'park' | 'decline'): void {
    this.#asking.clear();
    if (onInputTimeout !== 'park') return;
    for (const [issueId, { status }] of Object.entries(claims)) {
      const question = status.kind === 'running' ? status.run.questions[0] : undefined;
      // A stop request ends the run.
      if (status.kind === 'running' && status.run.requestedAfterExit === null && question)
        this.#asking.set(status.run.runId, { issueId, questionId: question.id });
    }
  }

  decided(book: LawChecker, event: OrchestratorEvent, state: State): void {
    switch (event.type) {
      case 'run_signalled':
        return event.signal.type === 'usage' ? this.#counted(book, event.runId, state) : undefined;
      case 'stop_requested':
      case 'retry_requested':
        // A person requested something else.
        for (const [runId, { issueId }] of this.#asking) if (issueId === event.issueId) this.#asking.delete(runId);
        return;
      case 'run_unkillable':
        return void this.#asking.delete(event.runId);
      case 'run_exited':
        return this.#closed(book, event.runId, state);
      default:
        return;
    }
  }

  #counted(book: LawChecker, runId: string, state: State): void {
    const issueId = state.runs[runId] ?? '';
    const counted = state.records[issueId]?.tokens ?? 0;
    const spent = this.#ofIssue.get(issueId) ?? 0;
    if (counted > spent) book.broke('tokens_once', `${counted} tokens of ${issueId} are counted, it spent ${spent}`);
  }

  #closed(book: LawChecker, runId: string, state: State): void {
    const asked = this.#asking.get(runId);
    this.#asking.delete(runId);
    if (!asked || book.words.hasLeft(asked.issueId)) return;
    const status = state.claims[asked.issueId]?.status;
    if (status?.kind !== 'parked' || status.question?.id !== asked.questionId)
      book.broke('question_kept', `${asked.issueId} waited for an answer and is ${JSON.stringify(status ?? null)}`);
  }
}
