import type { Trust } from '../../domain/config.js';
import type { Issue } from '../../domain/issue.js';
import type { HttpReading } from '../http/tracker-http.js';
import { authorOf } from '../trust.js';
import type { Blockers } from './blockers.js';
import type { ChangeHistories, HistoryFound } from './trust.js';
import { changedByStranger, needsHistory, type Rules, startLabels } from './changed-by-stranger.js';
import { type GitlabIssue, hasLabels } from './issue.js';
import type { IsMember, Members } from './members.js';

export interface FoundIssue {
  readonly gitlab: GitlabIssue;
  readonly issue: Issue;
}

export interface CompleteOrder {
  readonly reading: HttpReading;
  readonly members: Members;
  readonly blockers: Blockers;
  readonly histories: ChangeHistories;
  readonly trust: Trust;
  readonly requiredLabels: readonly string[];
  readonly stateLabelOf: Rules['stateLabelOf'];
}

/** What takes further questions: who is a member, what issues wait for, and who changed them last. Asked only where it can matter. */
export async function completeIssues(
  found: readonly FoundIssue[],
  order: CompleteOrder,
  maxHistories: number,
): Promise<readonly Issue[]> {
  const { reading, trust, requiredLabels, stateLabelOf } = order;
  const isMember = await judge(found, order);
  const rules: Rules = { trust, requiredLabels, stateLabelOf, isMember };
  // Nothing else can start, whatever it waits for and whoever changed it.
  const candidates = found.filter(({ gitlab }) => gitlab.isOpen === true && hasLabels(gitlab, requiredLabels));
  const blockers = await order.blockers.read(
    candidates.flatMap(({ gitlab }) => gitlab.iid ?? []),
    reading,
  );
  const doubtful = candidates.filter(({ gitlab, issue }) => issue.held_back === null && needsHistory(gitlab, rules));
  const histories = await order.histories.read(
    doubtful.map(({ gitlab }) => gitlab),
    { reading, rules, limit: maxHistories },
  );
  return found.map(({ gitlab, issue }) => {
    const history = gitlab.iid === null ? undefined : histories.get(gitlab.iid);
    const heldBack = issue.held_back ?? (history === undefined ? null : whyHeldBack(history, gitlab, rules));
    return {
      ...issue,
      author: authorOf({ login: gitlab.author, isMember: isMember(gitlab.author) }, trust),
      blocked_by: (gitlab.iid === null ? undefined : blockers.get(gitlab.iid)) ?? issue.blocked_by,
      dispatchable: heldBack === null,
      held_back: heldBack,
    };
  });
}

/** Members are read only where somebody's trust hangs on them. */
async function judge(found: readonly FoundIssue[], order: CompleteOrder): Promise<IsMember> {
  const { members, reading, trust, requiredLabels } = order;
  if (trust !== 'members' && trust !== 'anyone') return () => false;
  const people = found
    .map(({ gitlab }) => gitlab)
    .filter((each) => trust === 'members' || (hasLabels(each, requiredLabels) && startLabels(each, order).length > 0))
    .flatMap(({ author, assignees }) => [author, ...assignees]);
  return members.among(people, reading);
}

function whyHeldBack(history: HistoryFound, gitlab: GitlabIssue, rules: Rules): string | null {
  switch (history) {
    case 'unreadable':
      return 'has a history without end, so that nobody knows who changed it';
    case 'late':
      return 'was changed just now, and GitLab may not tell yet by whom';
    case 'later':
      return 'is yet to be looked through for changes by strangers, at one of the next polls';
    default:
      return changedByStranger(gitlab, history, rules);
  }
}
