import type { ParkReason } from '../domain/claim.js';
import { ERRORS } from '../domain/error-table.js';
import { assertNever } from '../domain/json.js';
import type { Notice, ParkedNotice } from './notice.js';

/** What a person can do about it; `null`: nothing needs to be done. */
export function actionOf(notice: Notice): string | null {
  switch (notice.kind) {
    case 'asking':
      return `Answer with \`baton answer ${word(notice.issue.identifier)}\`.`;
    case 'parked':
      return whatFrees(notice);
    case 'hold':
      return notice.event === 'begun' ? ERRORS[notice.hold.code].action : null;
    case 'digest':
      return '`baton status` shows them all.';
    case 'done':
    case 'daily_report':
      return null;
    default:
      return assertNever(notice);
  }
}

function whatFrees({ reason, question, issue }: ParkedNotice): string {
  const name = word(issue.identifier);
  if (question !== null) return `Answer with \`baton answer ${name}\`; a change of the issue frees it too.`;
  return FREED_BY[reason].replaceAll('ISSUE', () => name);
}

const FREED_BY: { readonly [reason in ParkReason]: string } = {
  too_many_failures:
    'See `baton logs ISSUE`. A change of the issue frees it, or `baton retry ISSUE` once the cause is gone.',
  no_progress: 'Say more clearly in the issue what is to be done: the change frees it. So does `baton retry ISSUE`.',
  budget: 'Raise agent.max_tokens_per_issue, or grant it a new budget with `baton retry ISSUE`.',
  input_required: 'Write the answer into the issue: the change frees it. So does `baton retry ISSUE`.',
  stopped_by_operator: 'A change of the issue or `baton retry ISSUE` starts it again.',
  unkillable: 'End the processes that `baton logs ISSUE` names; then a change of the issue or `baton retry ISSUE`.',
  configuration: 'Correct WORKFLOW.md: the change frees it.',
};

/** Somebody will copy the command into a shell: an identifier that is no plain word is left for them to fill in. */
function word(identifier: string): string {
  return /^[A-Za-z0-9_][A-Za-z0-9_.#/:-]{0,99}$/.test(identifier) ? identifier : '<issue>';
}
