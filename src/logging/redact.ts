import { randomBytes } from 'node:crypto';
import { type KnownSecrets, secretPrints } from '../domain/find-secrets.js';
import { base64Cores, piecesOf } from '../domain/secret-spellings.js';
import { neutraliseJson } from '../text/neutralise.js';

/**
 * Masks known secrets in everything that Baton writes. It can only mask a secret in one piece: a secret that an agent prints in two
 * messages, or in an encoding of its own, is not recognised.
 */
export interface Redactor {
  /** Returns false when the secret is too short to be distinguished from ordinary text; `ignored` then has a sentence about it. */
  add(secret: string): boolean;
  /** A sentence about each secret that is not masked, without the secret. */
  readonly ignored: readonly string[];
  mask(text: string): string;
  /** Masks a JSON text, which stays valid JSON. */
  maskJson(json: string): string;
  /** Prints of the secrets, for `findSecrets`. */
  prints(): KnownSecrets;
}

const MIN_SECRET_LENGTH = 6;
/** Shorter than any secret, so that masking ends and no secret is part of the mask. */
const MASK = '***';

export function createRedactor(secrets: readonly string[] = []): Redactor {
  const known = new Set<string>();
  const added = new Map<string, boolean>();
  const ignored: string[] = [];
  let pattern: RegExp | null = null;
  let prints: KnownSecrets | null = null;

  const matches = (text: string): boolean => pattern !== null && text.search(pattern) !== -1;

  const mask = (text: string): string => {
    let masked = text;
    // Repeat: the text on both sides of a mask may form a secret together with it.
    while (pattern !== null && matches(masked)) masked = masked.replace(pattern, MASK);
    return masked;
  };

  const maskValue = (value: unknown): unknown => {
    if (typeof value === 'string') return maskText(value);
    if (typeof value === 'number') return matches(String(value)) ? MASK : value;
    if (Array.isArray(value)) return value.map(maskValue);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [maskText(key), maskValue(child)]));
  };

  // The JSON text of a value may contain a secret that the value does not: a newline before `abcdef` is written as `\nabcdef`.
  const maskText = (text: string): string => {
    const masked = mask(text);
    return matches(JSON.stringify(masked)) ? MASK : masked;
  };

  /** Called again whenever a secret is read again; only the first call does work. */
  const add = (secret: string): boolean => {
    const trimmed = secret.trim();
    const isMasked = added.get(trimmed) ?? learn(trimmed);
    added.set(trimmed, isMasked);
    return isMasked;
  };

  const learn = (trimmed: string): boolean => {
    if (trimmed.length < MIN_SECRET_LENGTH) {
      ignored.push(
        `A secret of ${trimmed.length} characters is not masked: it is too short to be distinguished from other text.`,
      );
      return false;
    }
    for (const piece of piecesOf(trimmed)) known.add(piece);
    prints = null;
    const longestFirst = [...known].sort((a, b) => b.length - a.length);
    pattern = new RegExp(longestFirst.flatMap(spellings).join('|'), 'g');
    return true;
  };

  for (const secret of secrets) add(secret);
  return {
    add,
    ignored,
    mask,
    prints: () => {
      const masked = [...added].flatMap(([secret, isMasked]) => (isMasked ? [secret] : []));
      prints ??= secretPrints(masked, randomBytes(16).toString('hex'));
      return prints;
    },
    maskJson: (json) => {
      if (!matches(json)) return json;
      try {
        const masked = JSON.stringify(maskValue(JSON.parse(json)));
        if (!matches(masked)) return masked;
      } catch {
        // Not JSON, or nested too deeply: mask all of it.
      }
      return JSON.stringify({ masked: MASK });
    },
  };
}

/** A JSON text as one safe line: secrets are masked, control characters are escaped. */
export function safeLine(json: string, redactor: Redactor): string {
  return `${neutraliseJson(redactor.maskJson(json))}\n`;
}

/**
 * All spellings of a secret inside other text, as sources of a regular expression: plain, JSON-escaped (up to three times),
 * URI-encoded, in base64 or base64url of a larger text, and mixtures of these. All repeats are bounded, so that a megabyte of
 * backslashes does not make the match quadratic.
 */
function spellings(secret: string): string[] {
  return [secret, ...base64Cores(secret)].map(spellText);
}

function spellText(text: string): string {
  return Array.from(text.matchAll(/\\+|[^\\]/gsu), ([token]) =>
    token.startsWith('\\') ? spellBackslashes(token.length) : spellCharacter(token),
  ).join('');
}

/** A run of backslashes is one pattern: the repeats of single patterns would multiply. */
function spellBackslashes(count: number): string {
  return `(?:\\\\{${count},${count * 8}}|(?:${percentEncoded('\\')}){${count}})`;
}

/** No encoder changes letters and digits; plain characters make the match fast. */
function spellCharacter(character: string): string {
  if (/[A-Za-z0-9]/.test(character)) return character;
  const plain = character.split('').map(spellCodeUnit).join('');
  return `(?:${plain}|${percentEncoded(character)}${character === ' ' ? '|\\+' : ''})`;
}

function spellCodeUnit(unit: string): string {
  const escaped = `\\\\{1,8}u${anyCase(hex(unit.charCodeAt(0), 4))}`;
  const short = SHORT_ESCAPES[unit];
  if (short) return `(?:${literal(unit)}|\\\\{1,8}${short}|${escaped})`;
  if (unit === '"' || unit === '/') return `(?:\\\\{0,7}${URL_SAFE[unit] ?? literal(unit)}|${escaped})`;
  return `(?:${URL_SAFE[unit] ?? literal(unit)}|${escaped})`;
}

/** The base64url variants. In a plain secret they may mask slightly too much. */
const URL_SAFE: { readonly [unit: string]: string } = { '+': '[-+]', '/': '[/_]' };

const SHORT_ESCAPES: { readonly [unit: string]: string } = {
  '\b': 'b',
  '\f': 'f',
  '\n': 'n',
  '\r': 'r',
  '\t': 't',
};

function percentEncoded(character: string): string {
  return Array.from(Buffer.from(character, 'utf8'), (byte) => `%(?:25){0,2}${anyCase(hex(byte, 2))}`).join('');
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

function anyCase(hexDigits: string): string {
  return hexDigits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/** A `\uXXXX` escape, which is never regular expression syntax. */
function literal(unit: string): string {
  return `\\u${hex(unit.charCodeAt(0), 4)}`;
}
