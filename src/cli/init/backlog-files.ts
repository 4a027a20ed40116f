import { newBacklog } from '../../tracker/local/new-backlog.js';
import type { NewFile } from './write-new.js';

export const EXAMPLE_ISSUE = 'TASK-1';

/** A folder for Backlog.md with one small, harmless issue, so that the first run has something to do. */
export function backlogFiles(project: string, label: string, hasRepository: boolean, nowMs: number): NewFile[] {
  const description = hasRepository
    ? 'Look at what this repository is, and write three short sentences for a newcomer into `HELLO-BATON.md` at its top: what it is for, how it is built, how its tests are run. Change nothing else.'
    : 'Write a haiku about handing work on into `HELLO-BATON.md`. Change nothing else.';
  const example = { id: EXAMPLE_ISSUE, title: 'Say hello', priority: 'low', dependencies: [], description } as const;
  return newBacklog(project, [{ ...example, labels: [label] }], nowMs).map(({ path, text }) => ({
    path: `backlog/${path}`,
    text,
  }));
}
