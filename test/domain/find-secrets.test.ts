import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  findSecrets,
  KNOWN_SECRET,
  nameSecrets,
  type SecretFinding,
  secretPrints,
  TOO_LARGE,
} from '../../src/domain/find-secrets.js';
import { sha256 } from '../../src/domain/sha256.js';
import { growthOf } from '../support/growth.js';

/** Written in two parts, so that this file has no finding itself. */
const RANDOM = 'q7Zr2LxV9sTn4Kd8WmB3YcHp6GfJ5uAeR1oXzQvNtDkSbPiCyMwUhEgFjLa';
const HEX = createHash('sha256').update('x').digest('hex');
const SAMPLES: readonly [kind: string, secret: string][] = [
  ['GitHub token', `ghp_${RANDOM.slice(0, 36)}`],
  ['GitHub token', `github_pat_${RANDOM.slice(0, 22)}_${RANDOM}`],
  ['GitLab token', `glpat-${RANDOM.slice(0, 20)}`],
  ['Linear key', `lin_api_${RANDOM.slice(0, 40)}`],
  ['Slack token', `xoxb-${'730191371297-1012813281902-'}${RANDOM.slice(0, 24)}`],
  ['AWS key', `AKIA${'Q3EGRZB7LTN4VWXK'}`],
  ['AWS key', `aws_secret_access_key = ${RANDOM.slice(0, 40)}`],
  ['Google key', `AIza${RANDOM.slice(0, 35)}`],
  ['OpenAI key', `sk-proj-${RANDOM}`],
  ['Anthropic key', `sk-ant-api03-${RANDOM}-AA`],
  ['npm token', `npm_${RANDOM.slice(0, 36)}`],
  ['Atlassian token', `ATATT3xFfGF0${RANDOM}`],
  ['JSON Web Token', `${jwtPart({ alg: 'RS256', typ: 'JWT' })}.${jwtPart({ iss: 'auth', sub: 'u-77' })}.${RANDOM}`],
  ['private key', generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()],
  ['URL with a password', `postgres://app:${RANDOM.slice(0, 16)}@db.internal:5432/app`],
  ...[8, 9, 10, 11].map((length): [string, string] => [
    'URL with a password',
    `https://bot:${RANDOM.slice(0, length)}@git.corp.net/${'x'.repeat(12)}.git`,
  ]),
  ['URL with a password', `redis://:${'hunter2'}xyz@cache:6379/0?${'x'.repeat(12)}`],
  ['URL with a token', `https://${RANDOM.slice(0, 30)}@git.corp.net/x.git`],
  ['URL with a token', `https://${RANDOM.slice(0, 30)}:x-oauth-basic@git.corp.net/x.git`],
  ['login in base64', `{"auths":{"https://index.docker.io/v1/":{"auth":"${btoa(`bob:${RANDOM.slice(0, 20)}`)}"}}}`],
  ['login in base64', `//npm.corp.net/:_auth=${btoa(`bob:${RANDOM.slice(0, 20)}`)}`],
  ['AWS key', `aws_session_token = ${RANDOM.repeat(4)}`],
  ['AWS key', `"SessionToken": "${RANDOM.repeat(4)}"`],
  ['AWS key', `"SecretAccessKey": "${RANDOM.slice(0, 40)}"`],
  ['Hugging Face token', `hf_${RANDOM.slice(0, 34)}`],
  ['Notion token', `ntn_${RANDOM.slice(0, 46)}`],
  ['Netlify token', `nfp_${RANDOM.slice(0, 36)}`],
  ['Pulumi token', `pul-${HEX.slice(0, 40)}`],
  ['Twilio key', `SK${HEX.slice(0, 32)}`],
  ['crates.io token', `cio${RANDOM.slice(0, 32)}`],
  ['Replicate token', `r8_${RANDOM.slice(0, 37)}`],
  ['Supabase token', `sbp_${HEX.slice(0, 40)}`],
  ['New Relic key', `NRAK-${RANDOM.slice(0, 27).toUpperCase()}`],
  ['CircleCI token', `CCIPAT_${RANDOM.slice(0, 22)}_${HEX.slice(0, 40)}`],
  ['private key', `b3BlbnNzaC1rZXktdjEA${RANDOM}`],
  [
    'GitHub token',
    `ghs_1234567_${jwtPart({ alg: 'RS256', typ: 'JWT' })}.${jwtPart({ iss: 'github', sub: 'installation' })}.${RANDOM}`,
  ],
  ['model key', `nvapi-${RANDOM}${RANDOM.slice(0, 8)}`],
  ['LangSmith key', `lsv2_pt_${HEX.slice(0, 32)}_${HEX.slice(0, 10)}`],
  ['Heroku key', `HRKU-AA${RANDOM.slice(0, 58)}`],
  ['Fly.io token', `fm2_${RANDOM.repeat(2)}`],
  ['Doppler token', `dp.pt.${RANDOM.slice(0, 43)}`],
  ['PlanetScale token', `pscale_tkn_${RANDOM.slice(0, 43)}`],
  ['Azure key', `q7Z8Q~${RANDOM.slice(0, 34)}`],
];

const ENCODINGS: readonly [string, (text: string) => string][] = [
  ['as it is', (text) => text],
  ['in a JSON text', (text) => JSON.stringify({ text })],
  ['in a JSON text in a JSON text', (text) => JSON.stringify(JSON.stringify({ text }))],
  ['as a URI component', (text) => encodeURIComponent(text)],
  ['in base64', (text) => Buffer.from(text).toString('base64')],
  ['in base64url', (text) => Buffer.from(text).toString('base64url')],
  ['in base64 with lines of 76 characters', (text) => wrap(Buffer.from(`${text}\n${text}`).toString('base64'), 76)],
  ['in hexadecimal with lines of 60 characters', (text) => wrap(Buffer.from(text).toString('hex'), 60)],
  ['in hexadecimal with colons', (text) => (Buffer.from(text).toString('hex').match(/../g) ?? []).join(':')],
  [
    'in hexadecimal in groups of four',
    (text) =>
      (
        Buffer.from(text)
          .toString('hex')
          .match(/.{1,4}/g) ?? []
      ).join(' '),
  ],
  ['in XML entities', (text) => Array.from(text, (letter) => `&#${letter.codePointAt(0)};`).join('')],
  [
    'in hexadecimal XML entities',
    (text) => Array.from(text, (letter) => `&#x${letter.codePointAt(0)?.toString(16)};`).join(''),
  ],
  ...['\u200b', '\u034f', '\u202e', '\ufe0f', '\u{e0041}'].map((sign): [string, (text: string) => string] => [
    `with the invisible character ${sign.codePointAt(0)?.toString(16)}`,
    (text) => text.split('').join(sign),
  ]),
];

describe('SEC-31 a well-known format is found', () => {
  test.each(SAMPLES)('%s: %#', (kind, secret) => {
    for (const [, encode] of ENCODINGS) {
      const findings = findSecrets(`first line\nbefore ${encode(secret)} after\nlast line`);

      expect(findings.map((finding) => finding.kind)).toContain(kind);
      for (const { line, excerpt } of findings) {
        expect(line).toBeGreaterThan(1);
        expect(excerpt).not.toContain(secret.slice(-12));
      }
    }
  });

  test('in UTF-16', () => {
    for (const [kind, secret] of SAMPLES)
      for (const byte of ['\u0000', '\ufffd\u0000']) {
        const text = `a\n${byte}${secret.split('').join('\u0000')}\u0000`;

        expect(findSecrets(text)).toContainEqual(expect.objectContaining({ kind, line: 2 }));
      }
  });

  test('with its line, and an excerpt that shows where it is without the secret', () => {
    const findings = findSecrets(`a\nb\nexport TOKEN=ghp_${RANDOM.slice(0, 36)} # mine\n`);

    expect(findings).toEqual([{ kind: 'GitHub token', line: 3, excerpt: 'export TOKEN=ghp_***' }]);
    expect(nameSecrets(findings)).toBe('a GitHub token (line 3)');
  });

  test('behind megabytes of other text, and where two parts of the text meet', () => {
    for (const length of [1024 * 1024 - 20, 1024 * 1024 + 10, 5_000_000]) {
      const [finding] = findSecrets(`${'x '.repeat(length / 2)}\nghp_${RANDOM.slice(0, 36)}`);

      expect(finding).toMatchObject({ kind: 'GitHub token', line: 2 });
    }
  });

  test('although characters that look like a placeholder follow it', () => {
    expect(findSecrets(`ghp_${RANDOM.slice(0, 36)}EXAMPLExxxx`)).toHaveLength(1);
  });
});

describe('SEC-31 a secret that Baton knows is found', () => {
  const SECRET = 'k3Y"with/odd+chars\\é~%41';

  test.each(ENCODINGS)('%s', (_, encode) => {
    const known = secretPrints([SECRET], 'salt');

    expect(kinds(findSecrets(`a\nbefore ${encode(SECRET)} after`, known))).toContain(KNOWN_SECRET);
    expect(findSecrets(`a\nbefore ${encode('k3Y"with/odd-chars\\é~%41')} after`, known)).toEqual([]);
  });

  test('in any text, in base64 at any place, and in any line of several', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', minLength: 8, maxLength: 300 }).filter((text) => text.trim().length >= 8),
        fc.string({ unit: 'binary', maxLength: 40 }),
        fc.string({ maxLength: 10 }),
        (secret, before, salt) => {
          const known = secretPrints([secret], salt);

          expect(kinds(findSecrets(before + secret + before, known))).toContain(KNOWN_SECRET);
          expect(kinds(findSecrets(Buffer.from(before + secret + before).toString('base64url'), known))).toContain(
            KNOWN_SECRET,
          );
          expect(kinds(findSecrets(before, known))).toEqual(before.includes(secret.trim()) ? [KNOWN_SECRET] : []);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('by prints that survive JSON and do not contain it', () => {
    const json = JSON.stringify(secretPrints([SECRET, RANDOM], randomBytes(8).toString('hex')));

    expect(kinds(findSecrets(`x ${RANDOM} y`, JSON.parse(json)))).toEqual([KNOWN_SECRET]);
    for (const part of [SECRET.slice(0, 6), RANDOM.slice(0, 8), Buffer.from(RANDOM).toString('base64').slice(2, 12)])
      expect(json).not.toContain(part);
  });

  test('unless it is so short that ordinary text contains it', () => {
    expect(findSecrets('a secret in a sentence', secretPrints(['secret', ' '], 'salt'))).toEqual([]);
  });
});

describe('ordinary text has no finding', () => {
  test('this project, its lock file and its documents', () => {
    const files = [
      'package-lock.json',
      'README.md',
      ...['src', 'runner', 'orchestrator', 'hooks', 'docs'].flatMap(under),
    ];

    const found = files.flatMap((path) =>
      findSecrets(readFileSync(path, 'latin1')).map((finding) => `${path}: ${nameSecrets([finding])}`),
    );

    expect(files.length).toBeGreaterThan(300);
    expect(found).toEqual([]);
  });

  test.each([
    [
      'hashes of a diff',
      `index ${sha256('a')}..${sha256('b')} 100644\n+sha512-${createHash('sha512').update('a').digest('base64')}`,
    ],
    ['an image in base64', `data:image/png;base64,${randomBytes(60_000).toString('base64')}`],
    ['UUIDs', '123e4567-e89b-12d3-a456-426614174000 f47ac10b-58cc-4372-a567-0e02b2c3d479'],
    ['the header of a key in a document', 'It begins with `-----BEGIN PRIVATE KEY-----`, then base64.\n'.repeat(5)],
    ['placeholders', 'ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx AKIAIOSFODNN7EXAMPLE sk-ant-api03-your-key-here'],
    ['a variable', 'Authorization: Bearer ${GITHUB_TOKEN}, https://user:$PASSWORD@example.org/ and lin_api_$KEY'],
    [
      'passwords of documents in URLs',
      'postgres://postgres:postgres1@db/x mysql://root:Password123@db/x amqp://user:test_user1@mq redis://:my-secret-1@cache https://u:p4ssw0rd@h ssh://git:password@h',
    ],
    [
      'names in URLs',
      'https://some-large-organisation-42@dev.azure.com/x https://user.name.of.somebody1@h https://averyveryverylongname1@h',
    ],
    [
      'a public key of Sentry',
      `https://${HEX.slice(0, 32)}@o4501.ingest.sentry.io/12 https://${HEX.slice(0, 32)}@sentry.corp.net/1`,
    ],
    ['settings with the word auth', '{"auth": "authenticationmodule", "auth": "OAuth2"} basic_auth = 1'],
    [
      'hashes of files',
      `SK${HEX} pul-${HEX} hf_${HEX} cio${HEX.slice(0, 10)} x-SK${HEX.slice(0, 32)} audio${RANDOM.slice(0, 32)}`,
    ],
    [
      'addresses of hardware and of IPv6',
      '00:1b:44:11:3a:b7 2001:0db8:85a3:0000:0000:8a2e:0370:7334 &#8217; &#x1F600;',
    ],
    ['an address on this machine', 'postgres://postgres:postgres12345@localhost/test'],
    [
      'the example of jwt.io',
      `${jwtPart({ alg: 'HS256', typ: 'JWT' })}.${jwtPart({ sub: '1234567890', name: 'J' })}.x`,
    ],
  ])('%s', (_, text) => {
    expect(findSecrets(text, secretPrints([RANDOM], 'salt'))).toEqual([]);
  });
});

describe('hostile text', () => {
  test.each([
    ...[
      '\0',
      'a\0',
      '&#65;',
      '&#',
      '41:',
      '4142 ',
      'https://a1',
      'https://a1b2@',
      '"auth":"Aa1',
      'SK',
      'session_token=',
      '://a:pass1pass',
    ],
    ...['eyJ', 'eyJa.', '-----BEGIN PRIVATE KEY-----', 'ghp_', 'a://', 'https://aaaa:', 'machine a login a ', '%41'],
    ...[
      'Authorization: Bearer ',
      'QUJD',
      '4142',
      '\\\\',
      '\\u0041',
      'A\n',
      '://a:aaaaaaaaaaaa1',
      '123456789:AA',
      '\u200b',
    ],
  ])('megabytes of %j take a time that grows with their length', async (part) => {
    const known = secretPrints([RANDOM], 'salt');

    const growth = await growthOf(async (size) => {
      const text = part.repeat(size / part.length);
      return () => findSecrets(text, known);
    }, 50_000);

    expect(growth).toBeLessThan(9);
  });

  test('what is too large to be scanned is a finding', () => {
    expect(kinds(findSecrets('\0'.repeat(33 * 1024 * 1024)))).toEqual([TOO_LARGE]);
  });

  test('thousands of secrets are a short list', () => {
    expect(findSecrets(`ghp_${RANDOM.slice(0, 36)}\n`.repeat(10_000)).length).toBeLessThanOrEqual(50);
  });
});

test('sha256 is SHA-256', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      expect(sha256(text)).toBe(createHash('sha256').update(text).digest('hex'));
    }),
  );
});

function kinds(findings: readonly SecretFinding[]): string[] {
  return [...new Set(findings.map(({ kind }) => kind))];
}

function jwtPart(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function wrap(text: string, width: number): string {
  return text.replace(new RegExp(`.{${width}}`, 'g'), '$&\n');
}

function under(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`);
}
