import type { ParkReason } from '../domain/claim.js';
import { identifierFlaw } from '../domain/identifier-flaw.js';
import { batonCommand } from './phrases.js';

interface ParkedTexts {
  /** In a few words. */
  readonly summary: string;
  /** What a person can do to make the issue go on. */
  action(identifier: string): string;
}

export const PARKED_TEXTS: { readonly [reason in ParkReason]: ParkedTexts } = {
  too_many_failures: {
    summary: 'failed too often',
    action: (identifier) =>
      `see why with ${batonCommand('logs', identifier)}, then ${batonCommand('retry', identifier)}, or change the issue`,
  },
  no_progress: {
    summary: 'made no progress',
    action: (identifier) => `${batonCommand('retry', identifier)}, or change the issue`,
  },
  budget: {
    summary: 'token budget spent',
    action: (identifier) =>
      `raise agent.max_tokens_per_issue, or grant a new budget with ${batonCommand('retry', identifier)}`,
  },
  input_required: {
    summary: 'needs an answer',
    action: (identifier) => `write the answer into the issue, or ${batonCommand('retry', identifier)}`,
  },
  stopped_by_operator: {
    summary: 'stopped by a person',
    action: (identifier) => batonCommand('retry', identifier),
  },
  unkillable: {
    summary: 'a process cannot be killed',
    action: (identifier) => `once its processes are gone, ${batonCommand('retry', identifier)}`,
  },
  daemon_died: {
    summary: 'the daemon died during its runs',
    action: (identifier) =>
      `find out why the daemon died, then ${batonCommand('retry', identifier)}, or change the issue`,
  },
  configuration: {
    summary: 'the workflow cannot run it',
    action: (identifier) =>
      identifierFlaw(identifier) === null
        ? `remove the cause, then ${batonCommand('retry', identifier)}, or change the issue`
        : 'rename the issue in the tracker',
  },
};

/** A reason of a newer daemon is shown by its code. */
export function parkedSummary(reason: string): string {
  return Object.hasOwn(PARKED_TEXTS, reason) ? PARKED_TEXTS[reason as ParkReason].summary : reason.replaceAll('_', ' ');
}
