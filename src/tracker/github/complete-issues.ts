import type { TrackerConfig } from '../../domain/config.js';
import type { Issue } from '../../domain/issue.js';
import type { HttpReading } from '../http/tracker-http.js';
import { inParallel } from '../in-parallel.js';
import { changedByStranger, needsHistory, type Rules } from './changed-by-stranger.js';
import type { EditHistories, HistoryFound } from './trust.js';
import { AT_ONCE, type GithubApi } from './api.js';
import type { GithubIssue } from './issue.js';
import { readBlockers } from './read-blockers.js';
import type { Repository } from './repository.js';
import type { Mapping } from './to-issue.js';

export interface ReadOrder {
  readonly api: GithubApi;
  readonly reading: HttpReading;
  readonly repository: Repository;
  readonly histories: EditHistories;
  readonly mapping: Mapping;
  readonly requiredLabels: TrackerConfig['requiredLabels'];
}

/** What came of a record: an issue, what is wrong with it, or nothing that was asked for. */
export interface Mapped {
  readonly github: GithubIssue;
  readonly issue: Issue | null;
  readonly problem: string | null;
}

/** What takes further questions: what issues wait for, and who changed them last. Asked only where it can matter. */
export async function completeIssues(mapped: readonly Mapped[], order: ReadOrder): Promise<readonly Issue[]> {
  const { api, reading, histories, mapping, requiredLabels } = order;
  const { trust, states } = mapping;
  const rules: Rules = { trust, requiredLabels, stateLabelOf: (labels) => states.labelFor(labels) };
  const found = mapped.flatMap(({ github, issue }) => (issue === null ? [] : [{ github, issue }]));
  const changes = await histories.read(
    found.map(({ github }) => github).filter((github) => needsHistory(github, rules)),
    reading,
  );
  const blocked = found.filter(({ github }) => github.blockers > 0);
  const blockers = new Map(
    await inParallel(
      blocked,
      AT_ONCE,
      async ({ github }) => [github.number, await readBlockers(github, api, reading, states)] as const,
    ),
  );
  return found.map(({ github, issue }) => {
    const blocked_by = blockers.get(github.number) ?? issue.blocked_by;
    const history = github.number === null ? undefined : changes.get(github.number);
    const heldBack = issue.held_back ?? (history === undefined ? null : whyHeldBack(history, github, rules));
    if (heldBack === null && blocked_by === issue.blocked_by) return issue;
    return { ...issue, blocked_by, dispatchable: heldBack === null, held_back: heldBack };
  });
}

function whyHeldBack(history: HistoryFound, github: GithubIssue, rules: Rules): string | null {
  if (history === 'unreadable') return 'has a history that GitHub does not show, so that nobody knows who changed it';
  if (history === 'late') return 'was changed just now, and GitHub does not tell yet by whom';
  return changedByStranger(github, history, rules);
}
