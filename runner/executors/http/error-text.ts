import { fieldsOf, textOf } from '../../../src/domain/fields.js';
import { neutralise } from '../../../src/text/neutralise.js';
import { readJson } from './read-json.js';

const MAX_TEXT = 500;

/** What a service says about its refusal, where services commonly say it; else the beginning of the body as it is. */
export function errorTextOf(body: Buffer): string {
  const reading = readJson(body);
  return (reading.ok ? errorTextIn(reading.value) : null) ?? body.toString('utf8');
}

/** `null`: it says nothing in particular. */
export function errorTextIn(body: unknown): string | null {
  const { error, message, detail, error_description: description } = fieldsOf(body);
  const inner = fieldsOf(error);
  return (
    [inner.message, inner.detail, error, message, detail, description].map(textOf).find((text) => text !== null) ?? null
  );
}

export type Mask = (text: string) => string;

/** Services like to repeat what they were sent. The token is taken out of texts, plain and in the usual spellings. */
export function maskOf(token: string): Mask {
  const base64 = Buffer.from(token).toString('base64').replace(/=+$/, '');
  const spellings = [JSON.stringify(token).slice(1, -1), encodeURIComponent(token), base64, token];
  return (text) => spellings.reduce((masked, spelling) => masked.replaceAll(spelling, '***'), text);
}

/** Shorter ones stand in ordinary text, too. */
const MIN_TOKEN_LENGTH = 8;

/**
 * The same for the bytes of an answer, which becomes data of the run: a prompt, a variable, the input of a program. Nobody there may have
 * the token. In JSON it can only stand inside a text, so that the answer stays JSON.
 */
export function withoutToken(body: Buffer, token: string, mask: Mask): Buffer {
  return token.length < MIN_TOKEN_LENGTH ? body : Buffer.from(mask(body.toString('latin1')), 'latin1');
}

/** On one line, without anything that could act on a terminal, and not too long. Masked before it is cut: half a token is too much. */
export function shown(text: string, mask: Mask, max = MAX_TEXT): string {
  const clean = mask(text).trim();
  return neutralise(clean.length <= max ? clean : `${clean.slice(0, max)}…`);
}

/** The same for the end of a text, where programs say what killed them. */
export function shownTail(text: string, mask: Mask, max: number): string {
  const clean = mask(text).trim();
  return neutralise(clean.length <= max ? clean : `…${clean.slice(-max)}`);
}
