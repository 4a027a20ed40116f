import { homedir } from 'node:os';
import path from 'node:path';
import type { TrackerConfig } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { includesState, stateKey } from '../../domain/issue.js';
import type { JsonObject } from '../../domain/json.js';
import { nearestWord } from '../../domain/nearest-word.js';
import type { HostTool, IssueBatch, IssueChange, IssueUpdate, Tracker, WatchCallbacks } from '../../domain/ports.js';
import { someOf } from '../normalise-issue.js';
import type { TrackerEntry } from '../registry.js';
import { type Board, BoardReader, type Card } from './board.js';
import { cardToIssue, dependencyCircles, missingDependencies, onlyCard, Sightings, stateOf } from './read.js';
import { canonicalId } from './task-files.js';
import { type FolderWatch, realOrSame, watchFolder } from './watch-folder.js';
import { updateTask } from './write.js';

const KIND = 'local';
const DEFAULTS = { activeStates: ['To Do', 'In Progress'], terminalStates: ['Done'] };

interface LocalTrackerOptions {
  readonly folder: string;
  readonly scope: string;
  /** Asked anew each time: the settings may change. */
  settings(): Pick<TrackerConfig, 'activeStates' | 'terminalStates'>;
  /** How long a file has been missing is measured on this. */
  readonly nowMs: () => number;
}

/**
 * Issues that are files: a folder as Backlog.md keeps it. Every question looks at the folder as a whole, and only changed
 * files are read. Changes of one issue wait for each other; other programs are met at the lock and at the comparison
 * before each write.
 */
class LocalTracker implements Tracker {
  readonly kind = KIND;
  readonly defaults = DEFAULTS;
  readonly scope: string;
  readonly #options: LocalTrackerOptions;
  readonly #reader: BoardReader;
  readonly #sightings: Sightings;
  readonly #writing = new Map<string, Promise<unknown>>();
  #statuses: readonly string[] = [];
  #watch: FolderWatch | null = null;
  #isClosed = false;

  constructor(options: LocalTrackerOptions) {
    this.#options = options;
    this.scope = options.scope;
    this.#reader = new BoardReader(options.folder);
    this.#sightings = new Sightings(options.nowMs);
  }

  get states(): readonly string[] {
    return this.#statuses;
  }

  async issuesByStates(states: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    const board = await this.#look(signal);
    const wanted = new Set(states.map(stateKey));
    const cards = [...board.cards.keys()].flatMap((id) => onlyCard(board, id) ?? []);
    return this.#batch(
      cards.filter((card) => wanted.has(stateKey(this.#stateOf(card)))),
      [],
      board,
    );
  }

  async issuesByIds(ids: readonly string[], signal: AbortSignal): Promise<IssueBatch> {
    const board = await this.#look(signal);
    const cards: Card[] = [];
    const unknown: string[] = [];
    for (const asked of new Set(ids)) {
      const id = canonicalId(asked, board.config.prefix);
      const card = onlyCard(board, id);
      if (card) cards.push(card);
      else if (board.cards.has(id) || !this.#sightings.isGone(id, board)) unknown.push(asked);
    }
    return this.#batch(cards, unknown, board);
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

  async #look(signal: AbortSignal): Promise<Board> {
    const board = await this.#reader.read(signal);
    this.#statuses = board.config.statuses;
    this.#sightings.note(board, (card) => this.#stateOf(card));
    return board;
  }

  #batch(cards: readonly Card[], unknown: readonly string[], board: Board): IssueBatch {
    const states = this.#options.settings();
    const issues = cards.map((card) => cardToIssue(card, board, this.#sightings, states));
    const isDone = (card: Card) => includesState(states.terminalStates, stateOf(card, states));
    const circles = dependencyCircles(board.cards.keys(), (id) => {
      const card = onlyCard(board, id);
      return card && !isDone(card) ? card : null;
    });
    const problems = [...board.problems, ...missingDependencies(board, this.#sightings), ...circles];
    return { issues, unknown, problems: someOf(problems) };
  }

  #stateOf(card: Card): string {
    return stateOf(card, this.#options.settings());
  }

  async #update(issueId: string, { state, comment }: IssueChange, signal: AbortSignal): Promise<IssueUpdate> {
    let now = '';
    await updateTask({
      folder: this.#options.folder,
      issueId,
      locate: () => this.#locate(issueId, signal),
      plan: (card) => {
        now = state === undefined ? this.#stateOf(card) : this.#spelling(state, card);
        const moves = stateKey(now) !== stateKey(this.#stateOf(card));
        if (moves && card.isCompleted) throw completed(card, now);
        const edit = { ...(moves ? { status: now } : {}), ...(comment === undefined ? {} : { comment }) };
        return Object.keys(edit).length === 0 ? null : edit;
      },
      wallMs: Date.now,
      signal,
    });
    return { state: now };
  }

  async #locate(issueId: string, signal: AbortSignal): Promise<Card | null> {
    const board = await this.#look(signal);
    const id = canonicalId(issueId, board.config.prefix);
    const card = onlyCard(board, id);
    if (card) return card;
    if (!board.cards.has(id) && !this.#sightings.isGone(id, board)) return null;
    const why = board.cards.has(id) ? 'several files have its id' : 'it does not exist any more';
    throw new BatonError('tracker_refused', `${issueId} cannot be changed: ${why}.`);
  }

  /** The tracker's own spelling of a state. */
  #spelling(state: string, { task }: Card): string {
    const { activeStates, terminalStates } = this.#options.settings();
    const allowed = [...this.#statuses, ...activeStates, ...terminalStates];
    const found = allowed.find((each) => stateKey(each) === stateKey(state));
    if (found !== undefined) return found;
    if (stateKey(task.status) === stateKey(state)) return task.status;
    const names = [...new Map(allowed.map((each) => [stateKey(each), each])).values()];
    throw new BatonError('tracker_refused', `"${state}" is no state of this backlog. Use one of: ${names.join(', ')}.`);
  }
}

function completed({ task }: Card, state: string): BatonError {
  const message = `${task.id} is in the folder "completed" and cannot be moved to "${state}". Move its file back to "tasks" first.`;
  return new BatonError('tracker_refused', message);
}

const DEFAULT_PATH = './backlog';
const KEYS = ['path'];

export const localTracker: TrackerEntry = {
  kind: KIND,
  defaults: DEFAULTS,
  create({ config, settings, env, dir, nowMs }) {
    const folder = path.resolve(dir, withHome(pathOf(config.provider), env.HOME || homedir()));
    return new LocalTracker({ folder, scope: `${KIND}:${realOrSame(folder)}`, settings, nowMs });
  },
};

function pathOf(provider: JsonObject): string {
  const stranger = Object.keys(provider).find((key) => !KEYS.includes(key));
  if (stranger !== undefined) {
    const near = nearestWord(stranger, KEYS);
    const hint = near === null ? `It takes: ${KEYS.join(', ')}.` : `Did you mean tracker.provider.${near}?`;
    const message = `tracker.provider.${stranger} is no setting of the local tracker. ${hint}`;
    throw new BatonError('invalid_tracker_config', message);
  }
  const { path: written = null } = provider;
  if (written === null) return DEFAULT_PATH;
  if (typeof written === 'string' && written.trim() !== '' && !written.includes('\0')) return written.trim();
  const message = `tracker.provider.path must be the path of a folder, got ${JSON.stringify(written)}. Write ${DEFAULT_PATH}, or leave it out.`;
  throw new BatonError('invalid_tracker_config', message);
}

function withHome(written: string, home: string): string {
  return written === '~' || written.startsWith('~/') ? path.join(home, written.slice(1)) : written;
}
