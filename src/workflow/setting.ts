import { z } from 'zod';

/** What else is declared of a setting, beside its type, default and description. */
export interface SettingFacts {
  readonly unit?: 'ms' | 'MB' | 'days' | 'bytes' | 'tokens';
  /** The default in words, where the value does not show it. */
  readonly defaultText?: string;
  /** A change takes effect once no run is active, by opening the daemon again. */
  readonly whenIdle?: true;
  /** Decides what runs on this machine, what agents may do, or who is served: a change waits until a person allows it. */
  readonly security?: true;
  /** The value is a secret. `$NAME` stands for a variable, which agents and hooks do not get. */
  readonly secret?: true;
  /** The value may contain a secret: the log names the setting, and never shows the value. */
  readonly hidden?: true;
  /** The user chooses the keys of this map, and the log reports each of them as a setting. */
  readonly eachKey?: true;
  /** The part of the section's config that holds the value under its own name. */
  readonly group?: string;
}

/** The facts of each setting. Not in zod's global registry, which the JSON Schema shows. */
const FACTS = z.registry<SettingFacts>();

export function factsOf(schema: z.ZodType): SettingFacts {
  return FACTS.get(schema) ?? {};
}

/** A setting with its default: absent and empty (`key:`) mean the same. */
export function setting<T extends z.ZodType, D extends z.output<T> | null>(
  type: T,
  fallback: D,
  description: string,
  facts: SettingFacts = {},
) {
  const schema = type.nullish().transform((value): NonNullable<z.output<T>> | D => value ?? fallback);
  return declare(schema, description, facts, fallback);
}

/** The config has null where WORKFLOW.md has 0. */
export function zeroIsNull<T extends z.ZodType<number>>(schema: T) {
  const { description = '', default: fallback } = schema.meta() ?? {};
  return declare(
    schema.transform((value) => (value === 0 ? null : value)),
    description,
    factsOf(schema),
    fallback,
  );
}

/** Attaches the description, the default and the facts to a schema. */
export function declare<T extends z.ZodType>(
  schema: T,
  description: string,
  facts: SettingFacts = {},
  fallback: unknown = null,
): T {
  const described = schema.meta({ description, ...(fallback === null ? {} : { default: fallback }) });
  FACTS.add(described, facts);
  return described;
}

/** The maximum of Node's timers, 24 days. */
const MAX_MS = 2_147_483_647;

export const positiveInteger = integer(1, Number.MAX_SAFE_INTEGER, 'must be a positive integer');
export const countOrZero = integer(0, Number.MAX_SAFE_INTEGER, 'must be a positive integer or 0');
export const milliseconds = integer(1, MAX_MS, `must be a positive integer (milliseconds, at most ${MAX_MS})`);
export const millisecondsOrOff = integer(-MAX_MS, MAX_MS, `must be an integer (milliseconds, at most ${MAX_MS})`);
export const cpuWeight = integer(1, 10_000, 'must be an integer from 1 to 10000');
export const port = integer(0, 65_535, 'must be a port from 0 to 65535');

/** A whole number, also in quotes. */
function integer(min: number, max: number, expected: string) {
  const number = z.int({ error: expected }).min(min, expected).max(max, expected);
  const digits = z
    .string({ error: expected })
    .regex(/^-?\d{1,15}$/, expected)
    .transform(Number)
    .pipe(number);
  return z.union([number, digits], { error: expected });
}

const MAX_SECONDS = Math.floor(MAX_MS / 1000);
const secondsRule = `must be a number of seconds from 0 to ${MAX_SECONDS}`;
const secondsNumber = z.number({ error: secondsRule }).min(0, secondsRule).max(MAX_SECONDS, secondsRule);
/** Seconds with fractions, also in quotes; 0 means "not set". */
export const seconds = z.union(
  [
    secondsNumber,
    z
      .string({ error: secondsRule })
      .regex(/^\d{1,9}(\.\d{1,6})?$/, secondsRule)
      .transform(Number)
      .pipe(secondsNumber),
  ],
  { error: secondsRule },
);

const priceRule = 'must be a number, 0 or more: the price of a million tokens';
export const price = z.number({ error: priceRule }).min(0, priceRule);

const clockTimeRule = 'must be a time of the day in quotes, such as "09:00"';
export const clockTime = z.string({ error: clockTimeRule }).regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, clockTimeRule);

/** YAML can write a NUL as `"\0"`, but no process and no path accepts one. */
const textWithoutNul = z
  .string({ error: 'must be text' })
  .refine((value) => !value.includes('\0'), 'must not contain a NUL');

export const text = textWithoutNul.regex(/\S/, 'must not be empty');

/** Shell text; a blank script counts as absent. */
export const script = textWithoutNul.transform((value) => (value.trim() === '' ? null : value));

/** A name that other settings and `${…}` refer to. */
export const identifier = z
  .string({ error: 'must be text' })
  .regex(
    /^[A-Za-z][A-Za-z0-9_-]{0,63}$/,
    'must begin with a letter and have at most 64 letters, digits, `_` and `-` in all',
  );

export const textList = z.array(z.string({ error: 'must be text; put it in quotes' }), {
  error: 'must be a list of texts',
});

export const jsonMap = z.record(z.string(), z.json(), { error: 'must be a map' });

export const trueOrFalse = z.boolean({ error: 'must be true or false' });

/** A value that is passed on unchanged. */
export const textOrMap = z.union([text, jsonMap], { error: 'must be text or a map' });

export function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z.enum(values, { error: `must be one of ${values.join(', ')}` });
}
