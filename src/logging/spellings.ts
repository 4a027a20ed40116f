/**
 * Every way in which a secret may be spelt inside other text, as source of one regular expression: as it is, JSON-escaped
 * (also twice or three times), URI-encoded, and in base64 or base64url of any text around it, all of them mixed.
 * Bounded repeats only: an agent that prints a megabyte of backslashes must not make the match quadratic.
 */
export function spellings(secret: string): string[] {
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
