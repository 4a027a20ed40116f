import { hash } from 'node:crypto';
import { type ChangeHistory, PARTS, type Part, type Rules, startLabels } from './changed-by-stranger.js';
import type { GitlabIssue } from './issue.js';

/** An issue at a time: when it was changed last, what its text was, and of which history that takes to judge it. */
export interface Version {
  readonly updatedAt: string | null;
  readonly title: string;
  readonly description: string;
  readonly depth: string;
}

export function versionOf(issue: GitlabIssue, rules: Rules): Version {
  const { updatedAt, fields } = issue;
  const title = new Digest(fields.title);
  const description = new Digest(fields.description);
  return {
    updatedAt,
    get title() {
      return title.text;
    },
    get description() {
      return description.text;
    },
    depth: rules.trust === 'anyone' ? JSON.stringify(startLabels(issue, rules)) : '',
  };
}

/** Made when it is first compared: of most issues of a large board it never is. */
class Digest {
  #made: string | null = null;
  #of: unknown;

  constructor(of: unknown) {
    this.#of = of;
  }

  get text(): string {
    this.#made ??= hash('sha256', JSON.stringify(this.#of ?? null), 'base64');
    this.#of = null;
    return this.#made;
  }
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
