/**
 * What agents and trackers write may hold characters that move a terminal's cursor, end a line or turn text round. They
 * are shown as escapes: `\u001b`. C0, DEL and C1; the bidirectional controls; the line and paragraph separators.
 */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** For plain text, such as a terminal. */
export function neutralise(text: string): string {
  return text.replace(CONTROLS, visible);
}

/** For a text of several lines. */
export function neutraliseLines(text: string): string {
  return text.split('\n').map(neutralise).join('\n');
}

/** For one JSON text on one line: its values stay the same, and `cat` is as harmless as a JSON reader. */
export function neutraliseJson(json: string): string {
  return json.replace(CONTROLS, escaped);
}

function visible(character: string): string {
  return SHORT[character] ?? escaped(character);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const SHORT: { readonly [character: string]: string } = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };
