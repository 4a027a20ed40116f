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

const MAX_SHOWN = 300;
const MAX_LINES = 3;
/** Looked at before secrets are taken out: what is shown of it is much less, and looking through megabytes would hold everything else up. */
const MAX_LOOKED_AT = 4_000;

/** What a tracker or its program wrote, for a message: on one line, without secrets, and not too long. */
export function shown(text: string, mask: (text: string) => string): string {
  const clean = neutralise(mask(text.slice(0, MAX_LOOKED_AT)).trim().replace(/\s+/g, ' '));
  return clean.length <= MAX_SHOWN ? clean : `${clean.slice(0, MAX_SHOWN)}…`;
}

/** The last lines of what it wrote for people, where most programs say why they end. */
export function lastLines(text: string, mask: (text: string) => string): string {
  const lines = mask(text)
    .split('\n')
    .map((line) => line.trim().replace(/\s+/g, ' '))
    .filter((line) => line !== '');
  const clean = neutralise(lines.slice(-MAX_LINES).join(' | '));
  return clean.length <= MAX_SHOWN ? clean : `…${clean.slice(-MAX_SHOWN)}`;
}
