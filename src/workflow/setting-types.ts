import { z } from 'zod';

/** Timers take no more; it is 24 days. */
const MAX_MS = 2_147_483_647;

/** Absent and empty (`key:`) are the same: the default. The default shows in the JSON Schema. */
export function setting<T extends z.ZodType, D extends z.output<T> | null>(type: T, fallback: D, description: string) {
  return type
    .nullish()
    .transform((value): NonNullable<z.output<T>> | D => value ?? fallback)
    .meta({ description, ...(fallback === null ? {} : { default: fallback }) });
}

export const positiveInteger = integer(1, Number.MAX_SAFE_INTEGER, 'must be a positive integer');
export const countOrZero = integer(0, Number.MAX_SAFE_INTEGER, 'must be a positive integer or 0');
export const milliseconds = integer(1, MAX_MS, `must be a positive integer (milliseconds, at most ${MAX_MS})`);
export const millisecondsOrOff = integer(-MAX_MS, MAX_MS, `must be an integer (milliseconds, at most ${MAX_MS})`);
/** Fractions of a second count; 0 is "not set". */
const MAX_SECONDS = Math.floor(MAX_MS / 1000);
const secondsRule = `must be a number of seconds from 0 to ${MAX_SECONDS}`;
const anyNumber = z.number({ error: secondsRule }).min(0, secondsRule).max(MAX_SECONDS, secondsRule);
export const seconds = z.union(
  [
    anyNumber,
    z
      .string({ error: secondsRule })
      .regex(/^\d{1,9}(\.\d{1,6})?$/, secondsRule)
      .transform(Number)
      .pipe(anyNumber),
  ],
  { error: secondsRule },
);
const priceRule = 'must be a number, 0 or more: the price of a million tokens';
export const price = z.number({ error: priceRule }).min(0, priceRule);
export const clockTime = z
  .string({ error: 'must be a time of the day in quotes, such as "09:00"' })
  .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'must be a time of the day in quotes, such as "09:00"');
export const port = integer(0, 65_535, 'must be a port from 0 to 65535');

/** A whole number, also when it is quoted. */
function integer(min: number, max: number, expected: string) {
  const number = z.int({ error: expected }).min(min, expected).max(max, expected);
  const digits = z
    .string({ error: expected })
    .regex(/^-?\d{1,15}$/, expected)
    .transform(Number)
    .pipe(number);
  return z.union([number, digits], { error: expected });
}

/** A NUL can be written in YAML as `"\0"`, and no process or path takes it. */
const textWithoutNul = z
  .string({ error: 'must be text' })
  .refine((value) => !value.includes('\0'), 'must not contain a NUL');

/** What other settings and `${…}` call something by. */
export const identifier = z
  .string({ error: 'must be text' })
  .regex(
    /^[A-Za-z][A-Za-z0-9_-]{0,63}$/,
    'must begin with a letter and have at most 64 letters, digits, `_` and `-` in all',
  );

export const text = textWithoutNul.regex(/\S/, 'must not be empty');

/** Shell text; a blank one is none. */
export const script = textWithoutNul.transform((value) => (value.trim() === '' ? null : value));

export const textList = z.array(z.string({ error: 'must be text; put it in quotes' }), {
  error: 'must be a list of texts',
});

/** A list, or the comma-separated text that older Symphony files have. */
export const stateList = z
  .union([textList, z.string().transform((value) => value.split(','))], { error: 'must be a list of state names' })
  .transform((states) => states.map((state) => state.trim()).filter((state) => state !== ''));

const trustRule = 'must be members, anyone, or a list of logins';
export const trust = z.union([z.enum(['members', 'anyone']), z.array(text, { error: trustRule }).min(1, trustRule)], {
  error: trustRule,
});

export const jsonMap = z.record(z.string(), z.json(), { error: 'must be a map' });

/** What is passed on as it is. */
export const textOrMap = z.union([text, jsonMap], { error: 'must be text or a map' });

export function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z.enum(values, { error: `must be one of ${values.join(', ')}` });
}
