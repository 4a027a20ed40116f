import { assertNever } from '../domain/json.js';
import type { IdleReason } from '../domain/reasons.js';
import { quotedList } from './phrases.js';
import { ruleWhy, startObstacle } from './rules.js';

/** Why nothing happens, as one sentence. */
export function idleText(reason: IdleReason): string {
  switch (reason.code) {
    case 'answer_needed':
      return `${reason.params.identifiers.join(', ')} cannot go on until a person answers.`;
    case 'start_rule_failed':
      return sentence(startObstacle(reason.params));
    case 'first_in_line_waits':
      return `${reason.params.identifier} does not start: ${ruleWhy(reason.params)}.`;
    case 'nothing_due':
      return sentence(nothingDue(reason.params));
    case 'no_active_issues': {
      const { active_states: states, next_poll_at: next } = reason.params;
      return `No issue of the tracker is in an active state (${quotedList(states)}); it is read again at ${next}.`;
    }
    default:
      return assertNever(reason);
  }
}

type NothingDue = Extract<IdleReason, { readonly code: 'nothing_due' }>['params'];

function nothingDue({ hold, retrying, parked, ineligible, unreadable }: NothingDue): string {
  const parts: string[] = [];
  if (hold !== null) parts.push(`on hold (${hold}) until a run can be tried`);
  if (retrying !== null) parts.push(retryingText(retrying));
  if (parked !== null) {
    const { count, identifier, reason, message } = parked;
    parts.push(
      count === 1
        ? `${identifier} is parked (${reason}, ${message})`
        : `${count} issues are parked (${identifier}: ${reason}, ${message}; …)`,
    );
  }
  if (ineligible !== null) {
    const { count, identifier, failed } = ineligible;
    const why = `${identifier}: ${ruleWhy(failed)}`;
    parts.push(count === 1 ? `one issue is not eligible (${why})` : `${count} issues are not eligible (${why}; …)`);
  }
  if (unreadable !== null) {
    const { count, first } = unreadable;
    parts.push(
      count === 1
        ? `one thing in the tracker needs a look (${first})`
        : `${count} things in the tracker need a look (${first}; …)`,
    );
  }
  return parts.join('; ');
}

function retryingText({ count, identifier, due_at, reason, error }: NonNullable<NothingDue['retrying']>): string {
  const until = due_at === null ? 'until its workspace is removed' : `until ${due_at}`;
  const why = error === null ? ` (${reason})` : ` (${reason} after: ${error})`;
  const one = `${identifier} waits ${until}${why}`;
  return count === 1 ? one : `${count} issues wait, ${one} as the first`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
