/**
 * Characters that move the cursor of a terminal, end a line or change the direction of text: C0, DEL and C1, bidirectional controls, line and
 * paragraph separators. In text of agents and trackers they are shown as escapes: `\u001b`.
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

/** For a JSON text on one line: its values stay the same, and printing it is harmless. */
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
/** Only this much is masked: masking megabytes would block the daemon, and much less is shown. */
const MAX_MASKED = 4_000;

/** Output of a tracker or its program for a message: one line, masked and cut. */
export function shown(text: string, mask: (text: string) => string): string {
  const clean = neutralise(mask(text.slice(0, MAX_MASKED)).trim().replace(/\s+/g, ' '));
  return clean.length <= MAX_SHOWN ? clean : `${clean.slice(0, MAX_SHOWN)}…`;
}

/** The last lines of an error output, where most programs report the cause. */
export function lastLines(text: string, mask: (text: string) => string): string {
  const lines = mask(text)
    .split('\n')
    .map((line) => line.trim().replace(/\s+/g, ' '))
    .filter((line) => line !== '');
  const clean = neutralise(lines.slice(-MAX_LINES).join(' | '));
  return clean.length <= MAX_SHOWN ? clean : `…${clean.slice(-MAX_SHOWN)}`;
}
