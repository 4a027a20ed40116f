import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/logging/redact.js';
import { growthOf } from '../support/growth.js';

const SECRET = 'lin_api_k3Y"with/odd+chars\\é~';

/** Secrets as they come: tokens, passwords with any character, keys of several lines. */
const secrets = fc.oneof(
  fc.string({ minLength: 6, maxLength: 40 }).filter((text) => text.trim().length >= 6),
  fc.string({ unit: 'binary', minLength: 6, maxLength: 200 }).filter((text) => text.trim().length >= 6),
  fc.stringMatching(/^[A-Za-z0-9_/+=-]{20,300}$/),
);
const anyText = fc.oneof(fc.string({ maxLength: 30 }), fc.string({ unit: 'binary', maxLength: 30 }));

describe('SEC-20 a secret is masked', () => {
  test.each<[string, (secret: string) => string]>([
    ['as it is', (secret) => secret],
    ['JSON-escaped', (secret) => JSON.stringify(secret)],
    ['as JSON inside JSON inside JSON', (secret) => JSON.stringify(JSON.stringify(JSON.stringify(secret)))],
    ['in ASCII-only JSON', (secret) => asciiJson(secret)],
    ['as a URI component', (secret) => encodeURIComponent(secret)],
    [
      'as a URI component in lower case',
      (secret) => encodeURIComponent(secret).replace(/%../g, (h) => h.toLowerCase()),
    ],
    ['as a form field', (secret) => new URLSearchParams({ secret }).toString()],
    ['URI-encoded twice', (secret) => encodeURIComponent(encodeURIComponent(secret))],
    ['in base64', (secret) => Buffer.from(secret).toString('base64')],
    ['in base64url', (secret) => Buffer.from(secret).toString('base64url')],
    ['in base64 as a URI component', (secret) => encodeURIComponent(Buffer.from(secret).toString('base64'))],
    ['in base64 of one byte before it', (secret) => Buffer.from(`a${secret}`).toString('base64')],
    ['in base64 of "user:secret"', (secret) => Buffer.from(`user:${secret}:x`).toString('base64')],
    ['in base64 of two bytes before it', (secret) => Buffer.from(`ab${secret}`).toString('base64url')],
  ])('%s', (_, spell) => {
    const redactor = createRedactor([SECRET]);

    const masked = redactor.mask(`before ${spell(SECRET)} after`);

    expect(masked).toMatch(/^before .*\*\*\*.* after$/s);
    expect(masked).not.toContain(SECRET.slice(3, 11));
    expect(masked).not.toContain(Buffer.from(SECRET).toString('base64').slice(3, 16));
  });

  test('in any spelling and in any surrounding text', () => {
    fc.assert(
      fc.property(secrets, anyText, anyText, (secret, before, after) => {
        const redactor = createRedactor([secret]);
        const forms = formsOf(secret.trim());
        const around = Buffer.from(before + secret + after);

        for (const form of forms) {
          const masked = redactor.mask(before + form + after);
          for (const each of forms) expect(masked.includes(each)).toBe(false);
        }
        for (const encoding of ['base64', 'base64url'] as const) {
          const masked = redactor.mask(around.toString(encoding));
          expect(Buffer.from(masked.replaceAll('***', ''), encoding).toString('utf8').includes(secret)).toBe(false);
          expect(masked).toContain('***');
        }
      }),
      { numRuns: 300 },
    );
  });

  test('in a JSON line, which stays valid JSON with its other values unchanged', () => {
    fc.assert(
      fc.property(secrets, anyText, fc.jsonValue(), (secret, text, other) => {
        const redactor = createRedactor([secret]);
        const record = {
          a: { b: [text + secret] },
          [`k${secret}`]: 1,
          err: { stack: `Error: ${secret}\n at x` },
          other,
        };

        const masked = redactor.maskJson(JSON.stringify(record));

        JSON.parse(masked);
        for (const form of formsOf(secret.trim())) expect(masked.includes(form)).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  test('when an escape in the JSON text is part of it, and other text stays', () => {
    const redactor = createRedactor(['nabcdef']);

    expect(JSON.parse(redactor.maskJson(JSON.stringify({ text: '\nabcdef', other: 1 })))).toEqual({
      text: '***',
      other: 1,
    });
  });

  test('when it is a number', () => {
    const redactor = createRedactor(['48151623']);

    expect(JSON.parse(redactor.maskJson('{"pin":48151623,"n":7}'))).toEqual({ pin: '***', n: 7 });
  });

  test('line by line when it has many lines', () => {
    const lines = [
      '-----BEGIN KEY-----',
      'MIIEvQIBADANBgkqhkiG9w0BAQEF',
      'AASCBKcwggSjAgEAAoIBAQC7VJTU',
      '-----END KEY-----',
    ];
    const redactor = createRedactor([`${lines.join('\n')}\n`]);

    const output = lines.map((line) => redactor.mask(`hook: ${line}`));

    expect(output).toEqual(lines.map(() => 'hook: ***'));
  });
});

describe('the redactor', () => {
  test('masks the longer of two secrets with the same beginning', () => {
    const redactor = createRedactor(['abcdef', 'abcdef-more']);

    expect(redactor.mask('x abcdef-more y abcdef z')).toBe('x *** y *** z');
  });

  test('does not leave a secret that forms around a mask', () => {
    const redactor = createRedactor(['secret-one', 'left***right']);

    expect(redactor.mask('leftsecret-oneright')).toBe('***');
  });

  test('ignores a secret of fewer than 6 characters, with a sentence that does not contain it', () => {
    const redactor = createRedactor(['abc12', '   ', 'long-enough']);

    expect(redactor.add('tiny')).toBe(false);
    expect(redactor.ignored).toHaveLength(3);
    expect(redactor.ignored.join()).not.toMatch(/abc12|tiny/);
    expect(redactor.mask('abc12 tiny long-enough')).toBe('abc12 tiny ***');
  });

  test('reports an ignored secret once, even when it is added again', () => {
    const redactor = createRedactor();

    const answers = ['tiny', 'tiny', 'long enough', ' long enough '].map((secret) => redactor.add(secret));

    expect(answers).toEqual([false, false, true, true]);
    expect(redactor.ignored).toHaveLength(1);
  });

  test('masks a secret that was added later, without its final newline', () => {
    const redactor = createRedactor();

    expect(redactor.mask('token-value')).toBe('token-value');
    expect(redactor.add('token-value\n')).toBe(true);
    expect(redactor.mask('token-value')).toBe('***');
  });

  test('does not change any other byte', () => {
    const redactor = createRedactor([SECRET]);
    const line = '{ "spaced":  1.0, "big": 12345678901234567890 }';

    expect(redactor.maskJson(line)).toBe(line);
  });

  test('masks a whole line that contains a secret and cannot be parsed', () => {
    const redactor = createRedactor(['secret-one']);

    expect(redactor.maskJson(`${'['.repeat(200_000)}"secret-one"${']'.repeat(200_000)}`)).toBe('{"masked":"***"}');
    expect(redactor.maskJson('not json: secret-one')).toBe('{"masked":"***"}');
  });

  test('takes linear time for hostile text', async () => {
    const redactor = createRedactor(['"\\\\\\/ é%secret', '\\\\\\\\\\\\tail', 'plain-token-0123456789']);
    for (const piece of ['\\', '"', '%25', '\\u005c', '%', 'é/']) {
      const mask = async (count: number) => {
        const text = piece.repeat(count);
        return () => expect(redactor.mask(text)).toBe(text);
      };

      expect(await growthOf(mask, 50_000), piece).toBeLessThan(12);
    }
  });
});

function formsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const bytes = Buffer.from(secret);
  return [
    secret,
    json,
    JSON.stringify(json).slice(1, -1),
    asciiJson(secret).slice(1, -1),
    uri(secret),
    new URLSearchParams({ '': secret }).toString().slice(1),
    bytes.toString('base64'),
    bytes.toString('base64url'),
    uri(bytes.toString('base64')),
  ];
}

function uri(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString());
}

function asciiJson(text: string): string {
  return JSON.stringify(text).replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
