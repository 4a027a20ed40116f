import type { State } from '../../orchestrator/state.js';
import type { Claim } from '../domain/claim.js';
import type { Issue } from '../domain/issue.js';

export interface FoundIssue {
  readonly issue: Issue;
  /** `null`: it is a candidate. */
  readonly claim: Claim | null;
}

/**
 * By what people call it, else by its id, else as people type it: `task-1` is TASK-1 where no other is meant. Claims come first. Compares
 * texts and looks no key up, so that no name (`__proto__`) means anything special.
 */
export function findIssue(state: State, name: string): FoundIssue | null {
  const known = knownIssues(state);
  const wanted = name.toLowerCase();
  const alike = known.filter(({ issue }) => issue.identifier.toLowerCase() === wanted);
  return (
    known.find(({ issue }) => issue.identifier === name) ??
    known.find(({ issue }) => issue.id === name) ??
    (alike.length === 1 ? alike[0] : undefined) ??
    null
  );
}

export function knownIssues({ claims, candidates }: State): FoundIssue[] {
  return [
    ...Object.values(claims).map((claim) => ({ issue: claim.issue, claim })),
    ...Object.values(candidates).map((issue) => ({ issue, claim: null })),
  ];
}
