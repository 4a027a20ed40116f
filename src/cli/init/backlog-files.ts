import { newBacklog } from '../../tracker/local/new-backlog.js';
import { exampleIssue } from './example-issue.js';
import type { NewFile } from './write-files.js';

/** A folder for Backlog.md with one issue. */
export function backlogFiles(project: string, label: string, hasRepository: boolean, nowMs: number): NewFile[] {
  const example = { ...exampleIssue(hasRepository), priority: 'low', dependencies: [], labels: [label] } as const;
  return newBacklog(project, [example], nowMs).map(({ path, text }) => ({ path: `backlog/${path}`, text }));
}
