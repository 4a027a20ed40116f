import { RULES } from '../../orchestrator/eligibility.js';
import { isAsking, recordOf, type State } from '../../orchestrator/state.js';
import type { Claim } from '../domain/claim.js';
import type { Instant } from '../domain/clock.js';
import type { Issue } from '../domain/issue.js';
import { assertNever, type JsonObject } from '../domain/json.js';
import { askingEntry, budgetOf, issueFields, parkedEntry, retryingEntry, runningEntry } from './issue-entries.js';
import { lineUp } from './start-order.js';

/**
 * The answer to `GET /api/v1/<identifier>`, or `null` when no such issue is known: neither claimed nor among the last
 * candidates. Compares texts and looks no key up, so that no name (`__proto__`) means anything special.
 */
export function issueView(state: State, now: Instant, identifier: string): JsonObject | null {
  const claim = find(Object.values(state.claims), (one) => one.issue, identifier);
  const issue = claim?.issue ?? find(Object.values(state.candidates), (one) => one, identifier);
  if (!issue) return null;
  const rules = RULES.map((rule) => {
    const pass = rule.passes(issue, state);
    return { rule: rule.name, pass, why: pass ? null : rule.why(issue, state) };
  });
  return {
    ...issueFields(issue),
    priority: issue.priority,
    labels: issue.labels,
    blocked_by: issue.blocked_by.map((blocker) => ({ ...blocker })),
    created_at: issue.created_at,
    updated_at: issue.updated_at,
    runs: recordOf(state, issue.id).runs,
    budget: budgetOf(state, issue.id),
    ...standing(state, now, issue, claim ?? null),
    rules,
  };
}

/** By what people call it, else by its id. */
function find<T>(all: readonly T[], issueOf: (one: T) => Issue, name: string): T | undefined {
  return all.find((one) => issueOf(one).identifier === name) ?? all.find((one) => issueOf(one).id === name);
}

function standing(state: State, now: Instant, issue: Issue, claim: Claim | null): JsonObject {
  const inLine = lineUp(state, now).find(({ ready }) => ready.issue.id === issue.id);
  const ready = { ready: inLine !== undefined, why_not_started: inLine?.why ?? null };
  if (claim === null) return { status: inLine ? 'ready' : 'ineligible', ...ready };
  const { status, live } = claim;
  switch (status.kind) {
    case 'running':
      return {
        status: isAsking(claim) ? 'asking' : 'running',
        running: runningEntry(claim, status.run, state, now),
        asking: live.run && isAsking(claim) ? askingEntry(claim, status.run, live.run, now) : null,
      };
    case 'waiting':
      return { status: 'retrying', retrying: retryingEntry(claim, status, now), ...ready };
    case 'parked':
      return { status: 'parked', parked: parkedEntry(claim, status) };
    default:
      return assertNever(status);
  }
}
