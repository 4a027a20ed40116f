import { createHash } from 'node:crypto';
import { type ChangeHistory, PARTS, type Part, type Rules, startLabels } from './changed-by-stranger.js';
import type { GitlabIssue } from './gitlab-issue.js';

/** An issue at a time: when it was changed last, what its text was, and of which history that takes to judge it. */
export interface Version {
  readonly updatedAt: string | null;
  readonly title: string;
  readonly description: string;
  readonly depth: string;
}

export function versionOf(issue: GitlabIssue, rules: Rules): Version {
  const { updatedAt, fields } = issue;
  return {
    updatedAt,
    title: digestOf(fields.title),
    description: digestOf(fields.description),
    depth: rules.trust === 'anyone' ? JSON.stringify(startLabels(issue, rules)) : '',
  };
}

export function isSameText(one: Version, other: Version): boolean {
  return PARTS.every((part) => one[part] === other[part]);
}

/** Whatever of the text is another since then, a note tells by whom. */
export function isExplained(
  now: Version,
  history: ChangeHistory,
  then: { readonly version: Version; readonly history: ChangeHistory },
): boolean {
  return PARTS.every(
    (part) => now[part] === then.version[part] || newestMs(history, part) > newestMs(then.history, part),
  );
}

function newestMs({ changes }: ChangeHistory, part: Part): number {
  return changes.find(({ what }) => what === part)?.atMs ?? 0;
}

function digestOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value ?? null))
    .digest('base64');
}
