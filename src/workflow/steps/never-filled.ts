import type { Json } from '../../domain/json.js';
import { SCOPE_ROOTS } from '../../domain/steps/tokens.js';
import type { KeyPath } from '../positions.js';

const TOKEN = new RegExp(`(?<!\\$)\\$\\{\\s*(?:${SCOPE_ROOTS.join('|')})\\b[^{}\\n]*\\}?`);

/** Where data may go, for whoever put it elsewhere. */
const PLACES = 'data goes into input, params, args of a tool, stdin, env, env_set, memory or prompt';

/**
 * The first `${…}` of each text in a value that is taken as it is. Text of an issue must never become a part of a command, a
 * name or an address, so nothing is filled in there; whoever wrote a token expects otherwise.
 */
export function* neverFilled(value: Json, path: KeyPath): Generator<{ path: KeyPath; text: string }> {
  if (typeof value === 'string') {
    const token = TOKEN.exec(value)?.[0];
    if (token !== undefined) yield { path, text: `${token.slice(0, 80)} is never filled in here: ${PLACES}` };
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* neverFilled(item, [...path, index]);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      const token = TOKEN.exec(key)?.[0];
      if (token !== undefined)
        yield { path: [...path, key], text: `${token.slice(0, 80)} is never filled in as a key` };
      yield* neverFilled(item, [...path, key]);
    }
  }
}
