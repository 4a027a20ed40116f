import type { Trust } from '../domain/config.js';
import { labelKey } from '../domain/issue.js';
import type { ForgeIssue } from './forge-issue.js';

export type TextPart = 'title' | 'description';
export const TEXT_PARTS: readonly TextPart[] = ['title', 'description'];

/** A change of the title or the description. */
export interface Edit {
  readonly part: TextPart;
  /** `null`: the account does not exist any more. */
  readonly by: string | null;
  readonly atMs: number;
}

export interface EditRules {
  readonly trust: Trust;
  readonly requiredLabels: readonly string[];
  /** The label that puts an issue with these labels into its state; `null`: none does. */
  stateLabelOf(labels: readonly string[]): string | null;
}

/** The labels by which a member approves an issue: the required labels or, without them, the label of its state. */
export function approvalLabels(
  { labels }: Pick<ForgeIssue, 'labels'>,
  { requiredLabels, stateLabelOf }: Pick<EditRules, 'requiredLabels' | 'stateLabelOf'>,
): readonly string[] {
  if (requiredLabels.length > 0) return requiredLabels;
  const label = stateLabelOf(labels);
  return label === null ? [] : [label];
}

interface Approval {
  readonly label: string;
  readonly atMs: number;
}

/** The last of the labels completes the approval. A label without an event was there from the beginning. At least one label approves the issue. */
export function approvalOf(
  issue: Pick<ForgeIssue, 'labels' | 'createdAt'>,
  labelledAtMs: (labelKey: string) => number | undefined,
  rules: EditRules,
): Approval {
  const createdAtMs = Date.parse(issue.createdAt ?? '') || 0;
  return approvalLabels(issue, rules)
    .map((label) => ({ label, atMs: labelledAtMs(labelKey(label)) ?? createdAtMs }))
    .reduce((last, each) => (each.atMs > last.atMs ? each : last));
}

/**
 * The reason to hold an issue back when the last edit of its title or description is not trusted, going on from "it …". Both are judged, since a trusted edit of the
 * title does not approve the description. `edits`: the newest first.
 */
export function untrustedLastEdit(
  edits: readonly Edit[],
  trust: Trust,
  isTrusted: (by: string | null) => boolean,
): string | null {
  const lastEdits = TEXT_PARTS.flatMap((each) => edits.find(({ part }) => part === each) ?? []);
  const edit = lastEdits.find(({ by }) => !isTrusted(by));
  if (edit === undefined) return null;
  const status = trust === 'members' ? 'no member' : 'not trusted';
  return `has a ${edit.part} that was last changed by ${nameOf(edit)}, who is ${status}`;
}

/**
 * The same for an edit after the approval. Every such edit counts: a member who edits the issue later has not approved what the stranger wrote. In the moment of the
 * approval the order is unknown.
 */
export function untrustedEditAfter(
  { label, atMs: approvedAtMs }: Approval,
  edits: readonly Edit[],
  isStranger: (by: string | null) => boolean,
): string | null {
  const edit = edits.find(({ by, atMs }) => atMs >= approvedAtMs && isStranger(by));
  if (edit === undefined) return null;
  return `was changed by ${nameOf(edit)}, who is no member, after the label "${label}" was put on it`;
}

function nameOf({ by }: Edit): string {
  return by ?? 'somebody whose account is gone';
}
