import { BatonError } from '../../src/domain/errors.js';
import { type Issue, stateKey } from '../../src/domain/issue.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, RateLimit, Tracker } from '../../src/domain/ports.js';
import { issue } from './builders.js';

export type TrackerCall =
  | { readonly method: 'issuesByStates'; readonly states: readonly string[] }
  | { readonly method: 'issuesByIds'; readonly ids: readonly string[] };

/**
 * A board in memory that tests move by hand. An answer shows the board at the moment of the question, also when a gate holds
 * it back, like a slow tracker with outdated answers.
 */
export class MemoryTracker implements Tracker {
  readonly kind = 'memory';
  readonly scope: string = 'memory://board';
  readonly defaults = { activeStates: ['Todo', 'In Progress'], terminalStates: ['Done', 'Cancelled'] };
  /** Every question so far, in order. */
  readonly calls: TrackerCall[] = [];
  readonly comments: { readonly issueId: string; readonly comment: string }[] = [];
  /** Sent along with every answer until it is set to `null`. */
  rateLimit: RateLimit | null = null;
  isClosed = false;
  #board = new Map<string, Issue>();
  #unknown = new Set<string>();
  #failures: { readonly error: Error; readonly method: TrackerCall['method'] | null }[] = [];
  #gate: Promise<void> | null = null;
  #callListeners = new Set<() => void>();

  constructor(issues: readonly Issue[] = []) {
    for (const each of issues) this.put(each);
  }

  /** Adds an issue, or replaces it. `put('A')` is an issue with that id and identifier. */
  put(overrides: string | Partial<Issue>): Issue {
    const added = issue(overrides);
    this.#board.set(added.id, added);
    return added;
  }

  edit(id: string, overrides: Partial<Issue>): Issue {
    return this.put({ ...this.get(id), ...overrides });
  }

  move(id: string, state: string): Issue {
    return this.edit(id, { state });
  }

  remove(id: string): void {
    this.#board.delete(id);
  }

  get(id: string): Issue {
    const found = this.#board.get(id);
    if (!found) throw new Error(`the test's board has no issue ${id}; it has: ${[...this.#board.keys()].join(', ')}`);
    return found;
  }

  /** These ids are neither found nor gone until the next call of `unknown`. */
  unknown(ids: readonly string[]): void {
    this.#unknown = new Set(ids);
  }

  /** The next question (of that method) fails; further calls queue up further failures. */
  fail(error: Error = trackerDown(), method: TrackerCall['method'] | null = null): void {
    this.#failures.push({ error, method });
  }

  /** Holds all further answers until the returned function is called. */
  gate(): () => void {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    this.#gate = gate;
    return () => {
      if (this.#gate === gate) this.#gate = null;
      open();
    };
  }

  /** Resolves once `count` requests have been made in total. */
  async called(count: number): Promise<void> {
    while (this.calls.length < count) {
      await new Promise<void>((resolve) => this.#callListeners.add(resolve));
    }
  }

  count(method: TrackerCall['method']): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  issuesByStates(states: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    const wanted = new Set(states.map(stateKey));
    return this.#answer({ method: 'issuesByStates', states: [...states] }, signal, (each) =>
      wanted.has(stateKey(each.state)),
    );
  }

  issuesByIds(ids: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    const wanted = new Set(ids);
    return this.#answer({ method: 'issuesByIds', ids: [...ids] }, signal, (each) => wanted.has(each.id));
  }

  get states(): readonly string[] {
    return [...this.defaults.activeStates, ...this.defaults.terminalStates];
  }

  async update(id: string, { state, comment }: IssueChange): Promise<IssueUpdate> {
    if (!this.#board.has(id)) throw new BatonError('tracker_refused', `issue ${id} is gone`);
    if (comment !== undefined) this.comments.push({ issueId: id, comment });
    if (state !== undefined) this.move(id, state);
    return { state: this.get(id).state };
  }

  tools(): readonly HostTool[] {
    return [];
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  async #answer(call: TrackerCall, signal: AbortSignal, wants: (each: Issue) => boolean): Promise<IssueBatch> {
    this.calls.push(call);
    const listeners = [...this.#callListeners];
    this.#callListeners.clear();
    for (const listener of listeners) listener();

    const asked = call.method === 'issuesByIds' ? call.ids : [...this.#unknown];
    const batch: IssueBatch = {
      issues: [...this.#board.values()].filter((each) => wants(each) && !this.#unknown.has(each.id)),
      unknown: asked.filter((id) => this.#unknown.has(id)),
      ...(this.rateLimit ? { rateLimit: this.rateLimit } : {}),
    };
    const failure = this.#failures.find(({ method }) => method === null || method === call.method);
    if (failure) this.#failures.splice(this.#failures.indexOf(failure), 1);

    await untilOpen(this.#gate, signal);
    if (failure) throw failure.error;
    return batch;
  }
}

function trackerDown(): BatonError {
  return new BatonError('tracker_request', 'The tracker of the test is down. Nothing to do: the test wants it so.');
}

/** Rejects when the question is given up, as an aborted request would. */
async function untilOpen(gate: Promise<void> | null, signal: AbortSignal): Promise<void> {
  const givenUp = () => new BatonError('tracker_request', 'The question to the tracker was given up.');
  if (signal.aborted) throw givenUp();
  if (gate === null) return;
  await new Promise<void>((resolve, reject) => {
    const giveUp = () => reject(givenUp());
    signal.addEventListener('abort', giveUp, { once: true });
    void gate.then(() => {
      signal.removeEventListener('abort', giveUp);
      resolve();
    });
  });
}
