import { stateKey } from '../../domain/issue.js';
import { nearestWord } from '../../text/nearest-word.js';

/** A sentence for each state that Jira does not have: a search for it would be refused as a whole. */
export function unknownStates(asked: readonly string[], known: readonly string[]): readonly string[] {
  const keys = new Set(known.map(stateKey));
  const strangers = [...new Set(asked)].filter((state) => !keys.has(stateKey(state)));
  return strangers.map((state) => {
    const near = nearestWord(state, known);
    const hint = near === null ? `It has: ${known.slice(0, 20).join(', ')}` : `Did you mean "${near}"`;
    return `Jira has no state "${state}" here, so no issue is in it. ${hint}${near === null ? '.' : '?'}`;
  });
}
