/** A work item of the tracker, normalised. Every field is always present: absent is `null` or `[]`. */
export interface Issue {
  readonly id: string;
  readonly identifier: string;
  readonly title: string;
  readonly description: string | null;
  /** 1 (urgent) … 4 (low); anything else sorts after them. */
  readonly priority: number | null;
  readonly state: string;
  readonly branch_name: string | null;
  readonly url: string | null;
  readonly assignee_id: string | null;
  /** `null` where the tracker does not tell. `trusted: null` where it does not know memberships. */
  readonly author: { readonly login: string; readonly trusted: boolean | null } | null;
  /** Trimmed, lower case, unique. */
  readonly labels: readonly string[];
  readonly blocked_by: readonly Blocker[];
  readonly comments: readonly Comment[];
  /** The adapter's own verdict: false when it is assigned elsewhere, was edited by a stranger, … */
  readonly dispatchable: boolean;
  /** Why `dispatchable` is false, going on from "it …"; `null` where there is nothing to say. */
  readonly held_back: string | null;
  readonly native_ref: string | null;
  readonly created_at: string | null;
  readonly updated_at: string | null;
}

export interface Blocker {
  readonly id: string | null;
  readonly identifier: string | null;
  readonly state: string | null;
}

export interface Comment {
  readonly author: string | null;
  readonly body: string;
  readonly created_at: string | null;
}

/** How states are compared everywhere: "In Progress " and "in progress" are one state. */
export function stateKey(state: string): string {
  return state.trim().toLowerCase();
}
