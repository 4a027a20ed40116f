import { type Fields, fieldsOf } from '../domain/fields.js';
import { formatTokens } from '../text/format-tokens.js';
import type { Outcome } from '../domain/outcome.js';
import { because, counted, line } from '../text/phrases.js';

/** How a run ended, in a few words, on one line. */
export function describeOutcome(outcome: Outcome): string {
  const turns = outcome.meta.turns === undefined ? '' : ` after ${counted(outcome.meta.turns, 'turn')}`;
  if (outcome.state === 'success') {
    const { stop_reason: reason, usage } = fieldsOf(outcome.output);
    return `${reason === 'max_turns' ? 'used up its turns' : 'finished'}${turns}${tokens(fieldsOf(outcome.meta.usage ?? usage))}`;
  }
  const { code, message } = outcome.error;
  return line(`${VERBS[outcome.state]}${because(message)} (${code})`, MAX_CHARS);
}

const MAX_CHARS = 300;
const VERBS = { failed: 'failed', timeout: 'took too long', cancelled: 'was stopped' } as const;

/** As they are counted against budgets: input that was not cached, and output. */
function tokens({ input, cached, output }: Fields): string {
  if (![input, cached, output].every(Number.isSafeInteger)) return '';
  const spent = Number(input) - Number(cached) + Number(output);
  return `, ${formatTokens(spent)} tokens`;
}
