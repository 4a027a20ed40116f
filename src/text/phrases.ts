import { ERRORS } from '../domain/error-table.js';
import type { ErrorCode } from '../domain/errors.js';
import { lastWord } from '../domain/shell-word.js';
import { formatRuntime } from './format-time.js';
import { neutralise } from './neutralise.js';

/** Parts of sentences. Text of agents is put on one line, neutralised and cut. */
const MAX_CHARS = 160;

/** One line of at most `max` characters; empty when there is nothing to show. */
export function line(value: unknown, max = MAX_CHARS): string {
  if (typeof value !== 'string') return '';
  // Bounds the work for very long texts.
  const flat = neutralise(
    value
      .slice(0, max * 4)
      .replace(/\s+/gu, ' ')
      .trim(),
  ).replace(/\p{Cs}/gu, '\ufffd');
  return cutText(flat, max);
}

/** At most `max` whole characters. A cut text ends in `…`. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  // A character has at most two code units.
  const characters = Array.from(text.slice(0, max * 2));
  return characters.length <= max && text.length <= max * 2 ? text : `${characters.slice(0, max - 1).join('')}…`;
}

export function code(value: unknown): string {
  const text = line(value);
  return text === '' ? 'something' : `\`${text}\``;
}

/** `bash -lc 'npm test'` → `npm test`: the shell around a command is left out. */
export function command(value: unknown): string {
  const text = typeof value === 'string' ? value.trim() : '';
  const [, inner = text] = /^(?:\S*\/)?(?:ba|da|z)?sh -l?c (.+)$/s.exec(text) ?? [];
  return code(unquoted(inner));
}

function unquoted(text: string): string {
  const single = /^'(.*)'$/s.exec(text)?.[1];
  if (single !== undefined) return single.replaceAll("'\\''", "'");
  const double = /^"(.*)"$/s.exec(text)?.[1];
  return double === undefined ? text : double.replace(/\\(["\\$`])/g, '$1');
}

/** ` (2.3 s)`, or nothing for an unknown duration. */
export function took(durationMs: unknown): string {
  if (typeof durationMs !== 'number' || !(durationMs >= 0) || durationMs > MAX_DURATION_MS) return '';
  return ` (${formatRuntime(durationMs)})`;
}

const MAX_DURATION_MS = 1_000 * 3_600_000;

/** `: why`, or nothing without a reason. */
export function because(value: unknown): string {
  const text = line(value);
  return text === '' ? '' : `: ${text}`;
}

/** `"Todo", "In Progress"`. */
export function quotedList(words: readonly string[], separator = ', '): string {
  return words.map((word) => `"${word}"`).join(separator);
}

/** A command as a person types it. */
export function batonCommand(name: 'answer' | 'explain' | 'logs' | 'retry', identifier: string): string {
  return `\`baton ${name} ${lastWord(identifier)}\``;
}

/** What to do about an error, to go on in a sentence: without its capital and its full stop. */
export function errorAction(code: ErrorCode): string {
  return withoutStop(ERRORS[code].action).replace(/^[A-Z](?=[a-z]+\s)/, (letter) => letter.toLowerCase());
}

export function withoutStop(text: string): string {
  return text.replace(/\.\s*$/, '');
}
