import type { Trust } from '../../domain/config.js';
import { isTrustedWriter } from '../trust.js';
import { type GitlabIssue, hasLabels, labelKey } from './issue.js';
import type { IsMember } from './members.js';

/** Somebody changed a part of the text. `by: null`: nobody knows who. */
export interface Act {
  readonly what: Part;
  readonly by: string | null;
  readonly atMs: number;
}

export type Part = 'title' | 'description';
export const PARTS: readonly Part[] = ['title', 'description'];

/** What happened to an issue, as far as it matters for trust. */
export interface ChangeHistory {
  /** The newest first; those before the last label was put on may be missing. */
  readonly changes: readonly Act[];
  /** By `labelKey`: who put it on last. */
  readonly labelled: ReadonlyMap<string, Labelling>;
}

export type Labelling = Omit<Act, 'what'>;

export type Judged = Pick<GitlabIssue, 'author' | 'assignees' | 'labels' | 'createdAt' | 'updatedAt'>;

export interface Rules {
  readonly trust: Trust;
  readonly requiredLabels: readonly string[];
  readonly isMember: IsMember;
  /** The label that puts an issue with these labels into its state; `null`: none does. */
  stateLabelOf(labels: readonly string[]): string | null;
}

/**
 * On GitLab an issue can be changed by members, by its author, and by those to whom it is assigned. Whoever did so may be none of them any more, so that only its history
 * tells. Under `anyone` a label is what a member says yes with; but guests can label what they write as they write it, and a stranger could change the text after that.
 */
export function needsHistory(issue: Judged, rules: Rules): boolean {
  const { trust, requiredLabels, isMember } = rules;
  // It cannot start without them, whoever changed it.
  if (!hasLabels(issue, requiredLabels)) return false;
  if (trust === 'members') return isMember(issue.author);
  if (trust === 'anyone') return startLabels(issue, rules).length > 0;
  return isTrustedWriter({ login: issue.author, isMember: null }, trust) === true;
}

/** Somebody who is not trusted may change it at this very moment. Members may be left out of a list of logins. */
export function isOpenToStrangers({ author, assignees }: Judged, { trust, isMember }: Rules): boolean {
  return (trust !== 'members' && trust !== 'anyone') || [author, ...assignees].some((login) => !isMember(login));
}

/** Why an issue must not be worked on, going on from "it …"; `null`: nobody untrusted had the last word. */
export function changedByStranger(issue: Judged, history: ChangeHistory, rules: Rules): string | null {
  if (!needsHistory(issue, rules)) return null;
  return rules.trust === 'anyone' ? afterLabel(issue, history, rules) : lastByStranger(history, rules);
}

/** Of title and description each: whoever corrects the one has not vouched for the other. */
function lastByStranger({ changes }: ChangeHistory, { trust, isMember }: Rules): string | null {
  const last = PARTS.flatMap((part) => changes.find(({ what }) => what === part) ?? []);
  const stranger = last.find(({ by }) => isTrustedWriter({ login: by, isMember: isMember(by) }, trust) !== true);
  if (!stranger) return null;
  const who = `${nameOf(stranger)}, who is ${trust === 'members' ? 'no member' : 'not trusted'}`;
  return `has a ${stranger.what} that was last changed by ${who}`;
}

function afterLabel(issue: Judged, { changes, labelled }: ChangeHistory, rules: Rules): string | null {
  // A label that nobody was seen to put on was put on by the author.
  const unsaid = startLabels(issue, rules).find((name) => {
    const labelling = labelled.get(labelKey(name));
    return !rules.isMember(labelling === undefined ? issue.author : labelling.by);
  });
  if (unsaid !== undefined) return `carries the label "${unsaid}", which no member has put on it`;
  const label = lastLabel(issue, labelled, rules);
  // At the same time nobody knows what came first.
  const changed = changes.find(({ by, atMs }) => atMs >= label.atMs && !rules.isMember(by));
  if (!changed) return null;
  return `was changed by ${nameOf(changed)}, who is no member, after the label "${label.name}" was put on it`;
}

/** The yes is complete with the last of the labels. One that nobody was seen to put on was there from the beginning. */
export function lastLabel(
  issue: Judged,
  labelled: ChangeHistory['labelled'],
  rules: Rules,
): { readonly name: string; readonly atMs: number } {
  const createdAtMs = Date.parse(issue.createdAt ?? '') || 0;
  return startLabels(issue, rules)
    .map((name) => ({ name, atMs: labelled.get(labelKey(name))?.atMs ?? createdAtMs }))
    .reduce((last, each) => (each.atMs > last.atMs ? each : last));
}

/** What a member says yes with: the required labels or, where there are none, the one that makes its state. */
export function startLabels(
  { labels }: Pick<Judged, 'labels'>,
  { requiredLabels, stateLabelOf }: Pick<Rules, 'requiredLabels' | 'stateLabelOf'>,
): readonly string[] {
  if (requiredLabels.length > 0) return requiredLabels;
  const label = stateLabelOf(labels);
  return label === null ? [] : [label];
}

/** Nobody but its author had a hand in it, who may say yes where one is needed: no history could tell more. */
export function isAsWritten(issue: Judged, { trust, isMember }: Rules): boolean {
  return isUntouched(issue) && (trust !== 'anyone' || isMember(issue.author));
}

/** Every change moves the time of the last one. */
export function isUntouched({ createdAt, updatedAt }: Judged): boolean {
  return createdAt !== null && createdAt === updatedAt;
}

function nameOf({ by }: Act): string {
  return by ?? 'somebody whose account is gone';
}
