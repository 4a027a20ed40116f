import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { frontMatterMap, readSkills } from '../../../../runner/executors/external/read-skills.js';
import { asOrdinaryUser } from '../../../support/as-ordinary-user.js';
import { externalStep } from './external-step.js';

let base: string;
let dir: string;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'baton-skills-')));
  dir = join(base, 'project');
  mkdirSync(join(dir, 'skills'), { recursive: true });
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

const write = (name: string, content: string | Buffer) => writeFileSync(join(dir, name), content);
const refusal = (words: string) =>
  expect.objectContaining({ code: 'AGENT_INVOCATION_FAILED', message: expect.stringContaining(words) });

test('S0-23 a skill has its path, its hash, its whole content, and its front matter if there is one', async () => {
  const text = '---\nname: review\ntags: [a, b]\n---\n# How to review\n';
  write('skills/review.md', text);
  write('plain.md', 'just text');

  const skills = await readSkills(['skills/review.md', './plain.md'], dir);

  const hash = createHash('sha256').update(text).digest('hex');
  expect(skills).toEqual([
    { id: 'skills/review.md', content_hash: hash, content: text, meta: { name: 'review', tags: ['a', 'b'] } },
    { id: './plain.md', content_hash: expect.stringMatching(/^[0-9a-f]{64}$/), content: 'just text' },
  ]);
});

test('S0-22 without skills the list is empty', async () => {
  expect(await readSkills([], dir)).toEqual([]);
});

test('a link inside the folder of the workflow is followed', async () => {
  write('skills/real.md', 'text');
  symlinkSync('real.md', join(dir, 'skills/link.md'));

  expect(await readSkills(['skills/link.md'], dir)).toMatchObject([{ id: 'skills/link.md', content: 'text' }]);
});

describe('refused before the start', () => {
  test.each([['../secret.md'], ['skills/../../secret.md'], ['link.md'], ['link/secret.md']])(
    'SEC-04 a path %s outside the folder of the workflow is refused',
    async (path) => {
      writeFileSync(join(base, 'secret.md'), 'secret');
      symlinkSync('../secret.md', join(dir, 'link.md'));
      symlinkSync('..', join(dir, 'link'));

      await expect(readSkills([path], dir)).rejects.toEqual(refusal('leads outside'));
    },
  );

  test('an absolute path outside', async () => {
    writeFileSync(join(base, 'secret.md'), 'secret');

    await expect(readSkills([join(base, 'secret.md')], dir)).rejects.toEqual(refusal('leads outside'));
  });

  test.each([
    ['missing.md', 'cannot be read (ENOENT)'],
    ['skills', 'is not a regular file'],
    ['nul\0.md', 'cannot be read'],
  ])('%j', async (path, words) => {
    await expect(readSkills([path], dir)).rejects.toEqual(refusal(words));
  });

  test('a file without read permission', async () => {
    write('closed.md', 'text');
    await asOrdinaryUser(base, async () => {
      const { chmodSync } = await import('node:fs');
      chmodSync(base, 0o000);
      await expect(readSkills(['closed.md'], dir)).rejects.toEqual(refusal('cannot be read (EACCES)'));
      chmodSync(base, 0o755);
    });
  });

  test('a file of more than 1 MiB', async () => {
    write('most.md', Buffer.alloc(1_048_576, 'x'));
    write('more.md', Buffer.alloc(1_048_577, 'x'));

    expect(await readSkills(['most.md'], dir)).toHaveLength(1);
    await expect(readSkills(['more.md'], dir)).rejects.toEqual(refusal('is larger than 1048576 bytes'));
  });

  test('bytes that are not UTF-8', async () => {
    write('binary', Buffer.from([0xff, 0xfe, 0x00]));

    await expect(readSkills(['binary'], dir)).rejects.toEqual(refusal('is not valid UTF-8'));
  });

  test('S0-29 a step with a missing skill starts no process', async () => {
    const step = await externalStep();

    const outcome = await step.run({ skills: ['missing.md'] });

    expect(outcome).toMatchObject({ state: 'failed', error: { code: 'AGENT_INVOCATION_FAILED' } });
    expect(step.started).toEqual([]);
  });
});

describe('front matter', () => {
  test.each([
    ['no fence', 'a: 1\n'],
    ['a fence that is never closed', '---\na: 1\n'],
    ['a list as its front matter', '---\n- a\n---\n'],
    ['a single value as its front matter', '---\ntext\n---\n'],
    ['an empty fence', '---\n---\n'],
    ['invalid YAML', '---\na: [\n---\n'],
    ['a fence further down', 'text\n---\na: 1\n---\n'],
    ['10,000 levels of lists', `---\na: ${'- '.repeat(5_000)}\n---\n`],
    ['10,000 brackets', `---\na: ${'['.repeat(10_000)}\n---\n`],
    [
      'an alias bomb',
      `---\na: &a [x,x]\n${[...'bcdefg'].map((key, at) => `${key}: &${key} [${`*${'abcdef'[at]},`.repeat(9)}]`).join('\n')}\n---\n`,
    ],
    ['a cycle', '---\na: &a [*a]\n---\n'],
  ])('a text with %s has no front matter', (_, text) => {
    expect(frontMatterMap(text)).toBeNull();
  });

  test('Windows line ends and a byte order mark are accepted', () => {
    expect(frontMatterMap('\ufeff---\r\na: 1\r\n---\r\ntext')).toEqual({ a: 1 });
  });

  test('SEC-14 a key named __proto__ is a plain key', () => {
    const meta = frontMatterMap('---\n__proto__: { polluted: true }\n---\n');

    expect(JSON.stringify(meta)).toBe('{"__proto__":{"polluted":true}}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
