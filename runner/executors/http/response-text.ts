import { fieldsOf, type Json, textOf } from '../../../src/domain/json.js';
import { neutralise } from '../../../src/text/neutralise.js';
import { isNestedTooDeep } from '../bounded-json.js';

const MAX_TEXT = 500;

/** The reason that a service gives for a refusal, from the fields where services usually put it, else the whole body. */
export function errorTextOf(body: Buffer): string {
  const reading = readJson(body);
  return (reading.ok ? errorTextIn(reading.value) : null) ?? body.toString('utf8');
}

/** Returns null when the body gives no reason. */
export function errorTextIn(body: unknown): string | null {
  const { error, message, detail, error_description: description } = fieldsOf(body);
  const inner = fieldsOf(error);
  return (
    [inner.message, inner.detail, error, message, detail, description].map(textOf).find((text) => text !== null) ?? null
  );
}

export type Mask = (text: string) => string;

/** Services often repeat what they were sent. Masks the token in texts, plain and in the usual encodings. */
export function maskOf(token: string): Mask {
  const base64 = Buffer.from(token).toString('base64').replace(/=+$/, '');
  const spellings = [JSON.stringify(token).slice(1, -1), encodeURIComponent(token), base64, token];
  return (text) => spellings.reduce((masked, spelling) => masked.replaceAll(spelling, '***'), text);
}

/** Shorter tokens occur in ordinary text. */
const MIN_TOKEN_LENGTH = 8;

/**
 * Masks the token in the bytes of a response, which become data of the run: a prompt, a variable, the input of a program. In JSON the
 * token can only stand inside a string, so that the response stays JSON.
 */
export function withoutToken(body: Buffer, token: string, mask: Mask): Buffer {
  return token.length < MIN_TOKEN_LENGTH ? body : Buffer.from(mask(body.toString('latin1')), 'latin1');
}

/** One line of bounded length that cannot act on a terminal. It is masked before it is cut, so that no half of a token is left. */
export function shown(text: string, mask: Mask, max = MAX_TEXT): string {
  const clean = mask(text).trim();
  return neutralise(clean.length <= max ? clean : `${clean.slice(0, max)}…`);
}

/** The same for the end of a text, where programs report why they failed. */
export function shownTail(text: string, mask: Mask, max: number): string {
  const clean = mask(text).trim();
  return neutralise(clean.length <= max ? clean : `…${clean.slice(-max)}`);
}

type JsonReading =
  | { readonly ok: true; readonly value: Json }
  /** `problem` continues "the answer …". */
  | { readonly ok: false; readonly problem: string };

/** Deep enough for any output, shallow enough for recursive code such as `JSON.stringify`. */
const MAX_DEPTH = 200;

/** Reads a body as JSON that can be written and read again without a change. */
export function readJson(body: Buffer): JsonReading {
  if (body.length === 0) return { ok: false, problem: 'has an empty body' };
  if (isNestedTooDeep(body)) return { ok: false, problem: 'is nested too deep' };
  let value: Json;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return { ok: false, problem: 'is not JSON' };
  }
  const problem = problemIn(value, 0);
  return problem === null ? { ok: true, value } : { ok: false, problem };
}

function problemIn(value: Json, depth: number): string | null {
  // `1e999` is read as Infinity, which JSON cannot write.
  if (typeof value === 'number') return Number.isFinite(value) ? null : 'holds a number that is too large';
  if (typeof value !== 'object' || value === null) return null;
  if (depth >= MAX_DEPTH) return 'is nested too deep';
  for (const child of Object.values(value)) {
    const problem = problemIn(child, depth + 1);
    if (problem !== null) return problem;
  }
  return null;
}
