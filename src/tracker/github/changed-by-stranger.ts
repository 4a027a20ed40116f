import type { Trust } from '../../domain/config.js';
import { isTrustedWriter, type Writer } from '../trust.js';

/** Somebody did something. `by: null`: nobody knows who, the account is gone. */
export interface Act {
  readonly by: string | null;
  readonly atMs: number;
}

/** What happened to an issue, as far as it matters for trust. */
export interface EditHistory {
  /** Of the description, the oldest first. */
  readonly edits: readonly Act[];
  /** Of the title, the oldest first. */
  readonly renames: readonly Act[];
  /** Since when, that time left out, nothing is missing above and below. */
  readonly completeSinceMs: number;
  /** By label, trimmed and in lower case: when it was last put on. */
  readonly labelledAtMs: ReadonlyMap<string, number>;
}

export interface Judged {
  readonly author: Writer & { readonly isMember: boolean };
  readonly labels: readonly string[];
  readonly createdAt: string | null;
}

export interface Rules {
  readonly trust: Trust;
  readonly requiredLabels: readonly string[];
  /** The label that puts an issue with these labels into its state; `null`: none does. */
  stateLabelOf(labels: readonly string[]): string | null;
}

/**
 * Besides its author only people with write access can edit an issue on GitHub, so that under `members` the author says it all. A list of logins may leave out people
 * with write access. Under `anyone` a label is what a member says yes with, and an author could change the text after that.
 */
export function needsHistory(issue: Judged, rules: Rules): boolean {
  const { author, labels } = issue;
  const { trust, requiredLabels } = rules;
  if (trust === 'members') return false;
  const carried = new Set(labels.map(labelKey));
  // It cannot start without them, whoever changed it.
  if (!requiredLabels.every((label) => carried.has(labelKey(label)))) return false;
  if (trust === 'anyone') return startLabels(issue, rules).length > 0 && !author.isMember;
  return isTrustedWriter(author, trust) === true;
}

/** What a member says yes with: the required labels or, where there are none, the one that makes its state. */
function startLabels({ labels }: Judged, { requiredLabels, stateLabelOf }: Rules): readonly string[] {
  if (requiredLabels.length > 0) return requiredLabels;
  const label = stateLabelOf(labels);
  return label === null ? [] : [label];
}

/** Why an issue must not be worked on, going on from "it …"; `null`: nobody untrusted had the last word. */
export function changedByStranger(issue: Judged, history: EditHistory, rules: Rules): string | null {
  if (!needsHistory(issue, rules)) return null;
  return rules.trust === 'anyone' ? afterLabel(issue, history, rules) : byUnlisted(history, rules.trust);
}

function byUnlisted({ edits, renames }: EditHistory, trust: Trust): string | null {
  for (const [act, what] of [
    [edits.at(-1), 'edited'],
    [renames.at(-1), 'renamed'],
  ] as const) {
    if (act !== undefined && isTrustedWriter({ login: act.by, isMember: null }, trust) !== true)
      return `was last ${what} by ${nameOf(act)}, who is not trusted`;
  }
  return null;
}

/** All that happened since counts: who edits after a stranger has not said yes to what that one wrote. */
function afterLabel(issue: Judged, history: EditHistory, rules: Rules): string | null {
  const { author } = issue;
  const { edits, renames, completeSinceMs, labelledAtMs } = history;
  const label = lastLabel(issue, labelledAtMs, rules);
  // In the same second nobody knows what came first.
  const changed = [...edits, ...renames].find((act) => act.atMs >= label.atMs && isAuthor(act, author));
  if (changed)
    return `was changed by ${nameOf(changed)}, who is no member, after the label "${label.name}" was put on it`;
  if (label.atMs > completeSinceMs) return null;
  return `was changed so often that GitHub does not tell who did so after the label "${label.name}" was put on it`;
}

/** The yes is complete with the last of the labels. One that nobody was seen to put on was there from the beginning. */
function lastLabel(
  issue: Judged,
  labelledAtMs: EditHistory['labelledAtMs'],
  rules: Rules,
): { readonly name: string; readonly atMs: number } {
  const createdAtMs = Date.parse(issue.createdAt ?? '') || 0;
  return startLabels(issue, rules)
    .map((name) => ({ name, atMs: labelledAtMs.get(labelKey(name)) ?? createdAtMs }))
    .reduce((last, each) => (each.atMs > last.atMs ? each : last));
}

/** Who is neither the author nor unknown has write access. */
function isAuthor({ by }: Act, { login }: Writer): boolean {
  return by === null || login === null || by.toLowerCase() === login.toLowerCase();
}

function nameOf({ by }: Act): string {
  return by ?? 'somebody whose account is gone';
}

export function labelKey(label: string): string {
  return label.trim().toLowerCase();
}
