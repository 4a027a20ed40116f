import { neutralise } from '../text/neutralise.js';

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
