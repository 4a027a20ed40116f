import { EventEmitter, once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { Clock } from '../../src/domain/clock.js';
import type { BatonError } from '../../src/domain/errors.js';
import { allowedContent } from '../../src/workflow/allowed-content.js';
import { parseWorkflow } from '../../src/workflow/load-workflow.js';
import { type WorkflowChange, type WorkflowWatcher, watchWorkflow } from '../../src/workflow/watch-workflow.js';
import { FakeClock } from '../support/fake-clock.js';
import { load, optionsWith } from './workflow-fixture.js';

export const settings = (maxTurns: number | string, more = '') =>
  `---\ntracker: {kind: local}\nworkspace: {root: /w}\nagent: {max_turns: ${maxTurns}}\n${more}\n---\nDo it.\n`;

/** Real time, only to wait until the debounce of a real file event has passed. */
const realClock: Clock = {
  now: () => new FakeClock().now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

export interface Watched {
  readonly watcher: WorkflowWatcher;
  readonly log: readonly string[];
  readonly changes: readonly WorkflowChange[];
  /** The next callback of this name. */
  next(name: 'change' | 'error' | 'recovered'): Promise<unknown>;
}

/** Watches `file`. With `isDeaf` file events are ignored and only `check` loads. `duringLoad` runs after each read of the file. */
export async function watching(
  file: string,
  isDeaf = false,
  duringLoad = () => {},
  holdsChanges = false,
): Promise<Watched> {
  const initial = await load(file);
  const events = new EventEmitter();
  const log: string[] = [];
  const changes: WorkflowChange[] = [];
  const tell = (name: string, text: string) => {
    log.push(`${name}: ${text}`);
    // The event is not called "error": an emitter throws an "error" event that has no listener.
    events.emit(`on_${name}`);
  };
  const watcher = await watchWorkflow({
    path: file,
    homeDir: optionsWith().homeDir,
    initial,
    allowed: allowedContent(initial.workflow, initial.text, 0),
    holdsChanges,
    clock: isDeaf ? new FakeClock() : realClock,
    load: (read) => {
      duringLoad();
      return parseWorkflow(read, optionsWith());
    },
    onChange: (change) => {
      changes.push(change);
      tell('change', change.changes.join('; '));
    },
    onError: (error: BatonError) => tell('error', error.code),
    onHeld: ({ changes: held }) => tell('held', held.join('; ')),
    onHeldGone: () => tell('held_gone', ''),
    onRecovered: () => tell('recovered', ''),
    onWatchError: (error) => tell('watch_error', error.message),
  });
  onTestFinished(() => watcher.close());
  return { watcher, log, changes, next: (name) => once(events, `on_${name}`) };
}

export function workflowIn(folder: string, content = settings(1)): string {
  const file = path.join(folder, 'WORKFLOW.md');
  writeFileSync(file, content);
  return file;
}

/**
 * Repeats the save until it is detected. On a busy machine a single rename was once missed for 30 s, for an unknown reason. A dead watch
 * still fails the test. The product handles a missed event with its check before each poll.
 */
export async function expectSeen(watched: Watched, edit: () => void, maxTurns: number): Promise<void> {
  const changed = watched.next('change').then(() => true);
  for (let saves = 0; saves < SAVES; saves++) {
    edit();
    if (await Promise.race([changed, timedOut()])) break;
  }
  expect(watched.changes.at(-1)?.workflow.config.agent.maxTurns).toBe(maxTurns);
}

const SAVES = 5;

const timedOut = () => new Promise<false>((resolve) => setTimeout(() => resolve(false), 5_000).unref());

export function replace(file: string, content: string): void {
  writeFileSync(`${file}.new`, content);
  renameSync(`${file}.new`, file);
}
