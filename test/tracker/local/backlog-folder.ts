import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { Issue } from '../../../src/domain/issue.js';
import type { IssueBatch, Tracker } from '../../../src/domain/ports.js';
import { localTracker } from '../../../src/tracker/local/tracker.js';

/** A backlog in a folder of its own, gone after the test, and a tracker on it. */
export interface Backlog {
  /** The folder of WORKFLOW.md. */
  readonly dir: string;
  readonly folder: string;
  readonly tracker: Tracker;
  /** Moves the clock that measures how long files are missing. */
  pass(ms: number): void;
  write(name: string, content: string | Buffer): Promise<string>;
  read(name: string): Promise<string>;
  /** Everything that is active or terminal. */
  all(): Promise<IssueBatch>;
  byIds(...ids: string[]): Promise<IssueBatch>;
  /** The one issue of that id. */
  issue(id: string): Promise<Issue>;
}

export const NEVER = new AbortController().signal;

export async function backlog(files: { readonly [name: string]: string } = {}): Promise<Backlog> {
  const dir = tempDir();
  const folder = path.join(dir, 'backlog');
  await mkdir(path.join(folder, 'tasks'), { recursive: true });
  let nowMs = 0;
  const tracker = trackerIn(dir, {}, () => nowMs);
  onTestFinished(() => tracker.close());
  const write = async (name: string, content: string | Buffer) => {
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
    return file;
  };
  for (const [name, content] of Object.entries(files)) await write(name, content);
  const byIds = (...ids: string[]) => tracker.issuesByIds(ids, NEVER);
  return {
    dir,
    folder,
    tracker,
    pass: (ms) => {
      nowMs += ms;
    },
    write,
    read: (name) => readFile(path.join(folder, name), 'utf8'),
    all: () => tracker.issuesByStates(['To Do', 'In Progress', 'Done'], NEVER),
    byIds,
    issue: async (id) => {
      const [found] = (await byIds(id)).issues;
      if (!found) throw new Error(`no issue ${id}`);
      return found;
    },
  };
}

export function trackerIn(
  dir: string,
  provider: { readonly [key: string]: string | number },
  nowMs = () => 0,
  states?: () => { activeStates: string[]; terminalStates: string[] },
): Tracker {
  const config = {
    kind: 'local',
    provider,
    activeStates: ['To Do', 'In Progress'],
    terminalStates: ['Done', 'Dropped'],
    requiredLabels: [],
    trust: null,
    mentions: false,
  };
  return localTracker.create({
    config,
    settings: () => ({ ...config, ...states?.() }),
    env: { HOME: dir },
    dir,
    secret: () => null,
    mask: (text) => text,
    nowMs,
    start: () => Promise.reject(new Error('a local tracker starts nothing')),
  });
}

export function tempDir(): string {
  const dir = realpathSync(mkdtempSync(path.join(tmpdir(), 'baton-local-')));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A task as `backlog task create` writes it. */
export function task(id: string, fields: { readonly [key: string]: string } = {}, body = '\n\n'): string {
  const all = {
    title: `Title of ${id}`,
    status: 'To Do',
    assignee: '[]',
    created_date: "'2026-11-16 04:25'",
    ...fields,
  };
  const lines = Object.entries(all).map(([key, value]) => `${key}: ${value}\n`);
  return `---\nid: ${id}\n${lines.join('')}---\n${body}`;
}
