import { spellings } from './spellings.js';

/**
 * Keeps known secrets out of everything that is written down. It can only mask what arrives in one piece: a secret that an
 * agent prints in two messages, or in a code of its own, goes through.
 */
export interface Redactor {
  /** False when the secret is too short to be told from ordinary text; `ignored` then says so. */
  add(secret: string): boolean;
  /** One sentence for each secret that is not masked, without the secret. */
  readonly ignored: readonly string[];
  mask(text: string): string;
  /** The same for one JSON text, which stays valid JSON. */
  maskJson(json: string): string;
}

const MIN_SECRET_LENGTH = 6;
/** Shorter than any secret: what is masked gets shorter, and no secret can hide in the mask. */
const MASK = '***';

export function createRedactor(secrets: readonly string[] = []): Redactor {
  const known = new Set<string>();
  const added = new Map<string, boolean>();
  const ignored: string[] = [];
  let pattern: RegExp | null = null;

  const matches = (text: string): boolean => pattern !== null && text.search(pattern) !== -1;

  const mask = (text: string): string => {
    let masked = text;
    // Again and again: what remains on both sides of a mask may form a secret together with it.
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

  // `\nabcdef` holds "nabcdef" as text though not as a value. Whoever looks for the secret would find it.
  const maskText = (text: string): string => {
    const masked = mask(text);
    return matches(JSON.stringify(masked)) ? MASK : masked;
  };

  /** Again and again with the same secret, by whoever reads it anew: only the first time costs something. */
  const add = (secret: string): boolean => {
    const trimmed = secret.trim();
    const isMasked = added.get(trimmed) ?? learn(trimmed);
    added.set(trimmed, isMasked);
    return isMasked;
  };

  const learn = (trimmed: string): boolean => {
    if (trimmed.length < MIN_SECRET_LENGTH) {
      ignored.push(
        `A secret of ${trimmed.length} characters is not masked: that is too short to tell it from other text.`,
      );
      return false;
    }
    for (const piece of piecesOf(trimmed)) known.add(piece);
    const longestFirst = [...known].sort((a, b) => b.length - a.length);
    pattern = new RegExp(longestFirst.flatMap(spellings).join('|'), 'g');
    return true;
  };

  for (const secret of secrets) add(secret);
  return {
    add,
    ignored,
    mask,
    maskJson: (json) => {
      if (!matches(json)) return json;
      try {
        const masked = JSON.stringify(maskValue(JSON.parse(json)));
        if (!matches(masked)) return masked;
      } catch {
        // Not JSON, or nested too deeply to walk: nothing of it may be shown.
      }
      return JSON.stringify({ masked: MASK });
    },
  };
}

const MIN_LINE_LENGTH = 16;
const MAX_PIECE_LENGTH = 128;

/** A key of many lines is printed line by line, and one of many kilobytes makes no good pattern: it is masked in pieces. */
function piecesOf(secret: string): string[] {
  const lines = secret.split(/\r?\n/).filter((line) => line.trim().length >= MIN_LINE_LENGTH);
  const whole = secret.length <= MAX_PIECE_LENGTH || lines.length === 0 ? [secret] : [];
  return [...whole, ...lines.map((line) => line.trim())].flatMap(inEqualParts);
}

function inEqualParts(text: string): string[] {
  const characters = Array.from(text);
  const parts = Math.ceil(characters.length / MAX_PIECE_LENGTH);
  const size = Math.ceil(characters.length / parts);
  return Array.from({ length: parts }, (_, part) => characters.slice(part * size, (part + 1) * size).join(''));
}
