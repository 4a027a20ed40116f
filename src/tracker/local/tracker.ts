import type { TrackerConfig } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { includesState, stateKey } from '../../domain/issue.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, WatchCallbacks } from '../../domain/ports.js';
import { someOf } from '../normalise-issue.js';
import type { TrackerAdapter } from '../registry.js';
import { type Board, type BoardEntry, BoardReader } from './board.js';
import { MissingFiles } from './missing-files.js';
import { dependencyCycles, missingDependencies, onlyEntry, stateOf, toIssue } from './read.js';
import { DEFAULTS, KIND, readLocalFolder } from './settings.js';
import { canonicalId } from './task-files.js';
import { type FolderWatch, realPathOf, watchFolder } from './watch-folder.js';
import { updateTask } from './write.js';

export const localTracker: TrackerAdapter = {
  kind: KIND,
  defaults: DEFAULTS,
  create(options) {
    const folder = readLocalFolder(options);
    const { settings, nowMs } = options;
    return new LocalTracker({ folder, scope: `${KIND}:${realPathOf(folder)}`, settings, nowMs });
  },
};

interface LocalTrackerOptions {
  readonly folder: string;
  readonly scope: string;
  /** Read each time: the settings may change while the tracker lives. */
  settings(): Pick<TrackerConfig, 'activeStates' | 'terminalStates'>;
  readonly nowMs: () => number;
}

/**
 * Issues in a folder of Backlog.md. Every request reads the whole folder, but only changed files. Changes of one issue wait for
 * each other; a lock and a comparison before each write protect the changes of other programs.
 */
class LocalTracker implements Tracker {
  readonly kind = KIND;
  readonly defaults = DEFAULTS;
  readonly scope: string;
  readonly #options: LocalTrackerOptions;
  readonly #reader: BoardReader;
  readonly #missing: MissingFiles;
  readonly #writing = new Map<string, Promise<unknown>>();
  #statuses: readonly string[] = [];
  #watch: FolderWatch | null = null;
  #isClosed = false;

  constructor(options: LocalTrackerOptions) {
    this.#options = options;
    this.scope = options.scope;
    this.#reader = new BoardReader(options.folder);
    this.#missing = new MissingFiles(options.nowMs);
  }

  get states(): readonly string[] {
    return this.#statuses;
  }

  async issuesByStates(states: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    const board = await this.#readBoard(signal);
    const wanted = new Set(states.map(stateKey));
    const entries = [...board.entries.keys()].flatMap((id) => onlyEntry(board, id) ?? []);
    return this.#batch(
      entries.filter((entry) => wanted.has(stateKey(this.#stateOf(entry)))),
      [],
      board,
    );
  }

  async issuesByIds(ids: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    const board = await this.#readBoard(signal);
    const entries: BoardEntry[] = [];
    const unknown: string[] = [];
    for (const written of new Set(ids)) {
      const id = canonicalId(written, board.config.prefix);
      const entry = onlyEntry(board, id);
      if (entry) entries.push(entry);
      else if (board.entries.has(id) || !this.#missing.isGone(id, board)) unknown.push(written);
    }
    return this.#batch(entries, unknown, board);
  }

  async update(issueId: string, change: IssueChange, signal: AbortSignal): Promise<IssueUpdate> {
    if (this.#isClosed) throw new BatonError('tracker_request', 'Baton is shutting down; nothing was written.');
    const before = this.#writing.get(issueId) ?? Promise.resolve();
    const writing = before.catch(() => {}).then(() => this.#update(issueId, change, signal));
    this.#writing.set(issueId, writing);
    try {
      return await writing;
    } finally {
      if (this.#writing.get(issueId) === writing) this.#writing.delete(issueId);
    }
  }

  tools(): readonly HostTool[] {
    return [];
  }

  async watch(callbacks: WatchCallbacks): Promise<void> {
    try {
      await this.#watch?.close();
      this.#watch = await watchFolder(this.#options.folder, callbacks);
    } catch (error) {
      callbacks.onError(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#writing.values());
    await this.#watch?.close();
  }

  async #readBoard(signal: AbortSignal): Promise<Board> {
    const board = await this.#reader.read(signal);
    this.#statuses = board.config.statuses;
    this.#missing.note(board, (entry) => this.#stateOf(entry));
    return board;
  }

  #batch(entries: readonly BoardEntry[], unknown: readonly string[], board: Board): IssueBatch {
    const states = this.#options.settings();
    const issues = entries.map((entry) => toIssue(entry, board, this.#missing, states));
    const isDone = (entry: BoardEntry) => includesState(states.terminalStates, stateOf(entry, states));
    const cycles = dependencyCycles(board.entries.keys(), (id) => {
      const entry = onlyEntry(board, id);
      return entry && !isDone(entry) ? entry : null;
    });
    const problems = [...board.problems, ...missingDependencies(board, this.#missing), ...cycles];
    return { issues, unknown, problems: someOf(problems) };
  }

  #stateOf(entry: BoardEntry): string {
    return stateOf(entry, this.#options.settings());
  }

  async #update(issueId: string, { state, comment }: IssueChange, signal: AbortSignal): Promise<IssueUpdate> {
    let result = '';
    await updateTask({
      folder: this.#options.folder,
      issueId,
      locate: () => this.#locate(issueId, signal),
      plan: (entry) => {
        result = state === undefined ? this.#stateOf(entry) : this.#spelling(state, entry);
        const moves = stateKey(result) !== stateKey(this.#stateOf(entry));
        if (moves && entry.isCompleted) throw completed(entry, result);
        const edit = { ...(moves ? { status: result } : {}), ...(comment === undefined ? {} : { comment }) };
        return Object.keys(edit).length === 0 ? null : edit;
      },
      wallMs: Date.now,
      signal,
    });
    return { state: result };
  }

  async #locate(issueId: string, signal: AbortSignal): Promise<BoardEntry | null> {
    const board = await this.#readBoard(signal);
    const id = canonicalId(issueId, board.config.prefix);
    const entry = onlyEntry(board, id);
    if (entry) return entry;
    if (!board.entries.has(id) && !this.#missing.isGone(id, board)) return null;
    const reason = board.entries.has(id) ? 'several files have its id' : 'it does not exist any more';
    throw new BatonError('tracker_refused', `${issueId} cannot be changed: ${reason}.`);
  }

  /** The tracker's own spelling of a state. */
  #spelling(state: string, { task }: BoardEntry): string {
    const { activeStates, terminalStates } = this.#options.settings();
    const allowed = [...this.#statuses, ...activeStates, ...terminalStates];
    const found = allowed.find((each) => stateKey(each) === stateKey(state));
    if (found !== undefined) return found;
    if (stateKey(task.status) === stateKey(state)) return task.status;
    const names = [...new Map(allowed.map((each) => [stateKey(each), each])).values()];
    throw new BatonError(
      'tracker_refused',
      `"${state}" is not a state of this backlog. Use one of: ${names.join(', ')}.`,
    );
  }
}

function completed({ task }: BoardEntry, state: string): BatonError {
  const message = `${task.id} is in the folder "completed" and cannot be moved to "${state}". Move its file back to "tasks" first.`;
  return new BatonError('tracker_refused', message);
}
