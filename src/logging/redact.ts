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

/**
 * Every way in which a secret may be spelt inside other text, as source of one regular expression: as it is, JSON-escaped
 * (also twice or three times), URI-encoded, and in base64 or base64url of any text around it, all of them mixed.
 * Bounded repeats only: an agent that prints a megabyte of backslashes must not make the match quadratic.
 */
function spellings(secret: string): string[] {
  return [secret, ...base64Cores(secret)].map(spellText);
}

/**
 * The characters of base64 that depend on the secret alone, one for each alignment at which it can sit in the encoded
 * bytes. The characters at the seams also hold bits of the neighbours and cannot be known.
 */
function base64Cores(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
  });
}

function spellText(text: string): string {
  return Array.from(text.matchAll(/\\+|[^\\]/gsu), ([token]) =>
    token.startsWith('\\') ? spellBackslashes(token.length) : spellCharacter(token),
  ).join('');
}

/** A run of them is one piece: spelt one by one, their repeats would multiply. */
function spellBackslashes(count: number): string {
  return `(?:\\\\{${count},${count * 8}}|(?:${percentEncoded('\\')}){${count}})`;
}

/** Letters and digits are written as they are by every encoder; leaving them plain is what makes the match fast. */
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

/** What base64url writes in their place. In the plain secret this masks a little too much at worst. */
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

/** As a `\uXXXX` escape, which no dialect of regular expressions takes for syntax. */
function literal(unit: string): string {
  return `\\u${hex(unit.charCodeAt(0), 4)}`;
}
