import { withinLimit } from '../../../src/domain/clock.js';
import { toBatonError } from '../../../src/domain/errors.js';
import { fieldsOf, type Json, textOf } from '../../../src/domain/json.js';
import { cancelled, failureOf, type Outcome } from '../../../src/domain/outcome.js';
import { neutralise } from '../../../src/text/neutralise.js';
import { isNestedTooDeep } from '../bounded-json.js';
import type { StepContext } from '../executor.js';

/** Work of a step was given up because its signal was aborted. Never leaves this folder. */
export class StepStopped extends Error {
  override readonly name = 'StepStopped';
}

/** The edge of every executor here: whatever `work` throws becomes an outcome. */
export async function stepOutcome(context: StepContext, work: () => Promise<Outcome>): Promise<Outcome> {
  const { signal } = context;
  try {
    if (signal.aborted) throw new StepStopped();
    return await work();
  } catch (error) {
    return error instanceof StepStopped && signal.aborted ? cancelled(signal.reason) : failureOf(toBatonError(error));
  }
}

/** Waits for `promise`, but no longer than until the abort. What becomes of it afterwards is its owner's matter. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(new StepStopped());
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

export async function pause({ clock, signal }: StepContext, ms: number): Promise<void> {
  let cancel = () => {};
  const over = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
  });
  try {
    await untilAborted(over, signal);
  } finally {
    cancel();
  }
}

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

type JsonReading =
  | { readonly ok: true; readonly value: Json }
  /** `problem` goes on from "the answer …". */
  | { readonly ok: false; readonly problem: string };

/** Deep enough for any output, shallow enough for everybody who walks through it by recursion, `JSON.stringify` among them. */
const MAX_DEPTH = 200;

/** Reads a body as JSON that can be written down and read again without a change. */
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

const LIMIT_MS = 2_000;

/**
 * Tells a service that something of ours can go. Best effort: it has two seconds and a signal of its own, as the step may be stopped
 * already, and a failure is only worth a warning. Never throws.
 */
export async function lastWords(
  context: Pick<StepContext, 'clock' | 'warn'>,
  warning: string,
  say: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const onLate = () => new StepStopped(`no answer within ${LIMIT_MS} ms`);
  await withinLimit(context.clock, LIMIT_MS, say, onLate).catch((error) => {
    context.warn(warning, { error: toBatonError(error).message });
  });
}

/** The same while the step goes on: it is over when the run is, and nobody else waits for it. */
export function lastWordsMeanwhile(
  context: StepContext,
  warning: string,
  say: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const open = context.resources.get('http/last-words', () => {
    const words = new Set<Promise<void>>();
    context.resources.atEnd(async () => void (await Promise.all(words)));
    return words;
  });
  const words: Promise<void> = lastWords(context, warning, say).finally(() => open.delete(words));
  open.add(words);
  return words;
}
