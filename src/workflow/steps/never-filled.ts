import type { Json } from '../../domain/json.js';
import { nearestWord } from '../../text/nearest-word.js';
import { SCOPE_ROOTS } from '../../domain/steps/tokens.js';
import type { KeyPath } from '../positions.js';

const ROOTS = SCOPE_ROOTS.join('|');
const TOKEN = new RegExp(`(?<!\\$)\\$\\{\\s*(?:${ROOTS})\\b[^{}\\n]*\\}?`);
const LIQUID = new RegExp(`\\$?\\{\\{-?\\s*((?:${ROOTS})\\b[^{}|\\s]{0,80})[^{}\\n]{0,200}\\}\\}`);
const DOTTED = /(?<!\$)\$\{\s*([a-z]\w*)\.[^{}\n]*\}?/g;

/** Where data may go, for whoever put it elsewhere. */
const PLACES = 'data goes into input, params, args of a tool, stdin, env, env_set, memory or prompt';

export interface TextFault {
  readonly path: KeyPath;
  readonly text: string;
}

/** Every text in a value, and every key of a map in it. */
export function* textsIn(value: Json, path: KeyPath): Generator<TextFault & { readonly isKey: boolean }> {
  if (typeof value === 'string') yield { path, text: value, isKey: false };
  if (typeof value !== 'object' || value === null) return;
  const isList = Array.isArray(value);
  for (const [key, item] of Object.entries(value)) {
    const inner = [...path, isList ? Number(key) : key];
    if (!isList) yield { path: inner, text: key, isKey: true };
    yield* textsIn(item as Json, inner);
  }
}

/**
 * The first `${…}` of each text in a value that is taken as it is. Text of an issue must never become a part of a command, a
 * name or an address, so nothing is filled in there; whoever wrote a token expects otherwise.
 */
export function* neverFilled(value: Json, path: KeyPath): Generator<TextFault> {
  for (const { path: at, text, isKey } of textsIn(value, path)) {
    const token = TOKEN.exec(text)?.[0].slice(0, 80);
    if (token === undefined) continue;
    yield { path: at, text: `${token} is never filled in ${isKey ? 'as a key' : `here: ${PLACES}`}` };
  }
}

/** What looks like data in a value that is filled in, and stays as it is: other words in braces, and Liquid. */
export function* lookalikes(value: Json, path: KeyPath): Generator<TextFault> {
  for (const { path: at, text } of textsIn(value, path)) {
    const [liquid, name] = LIQUID.exec(text) ?? [];
    if (liquid !== undefined)
      yield {
        path: at,
        text: `${liquid.slice(0, 80)} stays as it is: only prompts of agents are Liquid; write \${${name}}`,
      };
    for (const [token, word = ''] of text.matchAll(DOTTED)) {
      const near = (SCOPE_ROOTS as readonly string[]).includes(word) ? null : nearestWord(word, SCOPE_ROOTS);
      if (near !== null) yield { path: at, text: `${token.slice(0, 80)} stays as it is; did you mean \${${near}…}?` };
    }
  }
}
