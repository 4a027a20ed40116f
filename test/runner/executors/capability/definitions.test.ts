import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { discoverCapabilities } from '../../../../runner/executors/capability/definitions.js';
import { executorFor, findCapability } from '../../../../src/domain/capabilities.js';
import { addCapability, addExecutor, write } from './harness.js';

let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-discovery-')));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const at = (source: 'project' | 'home', brand = '.baton') => join(root, source, brand, 'capabilities');
const builtIn = () => join(root, 'built-in');
const discover = () =>
  discoverCapabilities({ projectDir: join(root, 'project'), homeDir: join(root, 'home'), builtInDir: builtIn() });
const texts = async (level: 'error' | 'warning') =>
  (await discover()).problems.filter((problem) => problem.level === level).map(({ text }) => text);

describe('sources of executors', () => {
  test('S3-01 S3-03 executors are found in built-in, global and project folders, in that order', async () => {
    addExecutor(at('project'), 'p', '', { supportedTypes: ['a'] });
    addExecutor(at('project', '.codebolt'), 'old-p', '', { supportedTypes: ['b'] });
    addExecutor(at('home'), 'g', '', { supportedTypes: ['c'] });
    addExecutor(at('home', '.codebolt'), 'old-g', '', { supportedTypes: ['d'] });
    addExecutor(builtIn(), 'b', '', { supportedTypes: ['e'] });

    const { executors, problems } = await discover();

    expect(executors.map(({ name, source }) => `${source} ${name}`)).toEqual([
      'built-in b',
      'global old-g',
      'global g',
      'project old-p',
      'project p',
    ]);
    expect(problems).toEqual([]);
  });

  test('S3-02 S3-07 S3-03 the nearest executor of a type wins: project, then global, then built-in', async () => {
    addExecutor(builtIn(), 'one', '', { supportedTypes: ['x', 'y', 'z'] });
    addExecutor(at('home'), 'two', '', { supportedTypes: ['y', 'z'] });
    addExecutor(at('project'), 'three', '', { supportedTypes: ['z'] });

    const index = await discover();

    expect(['x', 'y', 'z'].map((type) => executorFor(index, type, null)?.name)).toEqual(['one', 'two', 'three']);
    expect(index.problems).toEqual([]);
  });

  test('S3-04 S3-09 an executor may serve several types, and types are free text', async () => {
    addExecutor(at('project'), 'many', '', { supportedTypes: ['skill', 'talent', 'ein Können'] });

    const index = await discover();

    expect(executorFor(index, 'talent', null)?.name).toBe('many');
    expect(executorFor(index, 'ein Können', null)?.name).toBe('many');
    expect(executorFor(index, 'other', null)).toBeNull();
  });

  test('S3-10 of two executors for one type in one source the later folder name wins, with a warning', async () => {
    addExecutor(at('project'), 'zebra', '', { supportedTypes: ['x'] });
    addExecutor(at('project'), 'ant', '', { supportedTypes: ['x'] });

    const index = await discover();

    expect(executorFor(index, 'x', null)?.name).toBe('zebra');
    expect(index.problems).toEqual([{ level: 'warning', text: expect.stringContaining('type x') }]);
  });

  test('the executor of skills is built in', async () => {
    const index = await discoverCapabilities({ projectDir: join(root, 'project'), homeDir: join(root, 'home') });

    expect(executorFor(index, 'skill', null)).toMatchObject({ name: 'skill', source: 'built-in' });
    expect(index.problems).toEqual([]);
  });

  test('a linked folder is read under its real path', async () => {
    const elsewhere = addExecutor(join(root, 'elsewhere'), 'linked', '');
    mkdirSync(join(at('project'), 'executors'), { recursive: true });
    symlinkSync(elsewhere, join(at('project'), 'executors', 'linked'));

    expect((await discover()).executors).toMatchObject([{ name: 'linked', dir: elsewhere }]);
  });
});

describe('executor.yaml', () => {
  test('S3-11 S3-12 S3-13 S3-14 S3-15 S3-16 only name and types are required; the other fields have defaults', async () => {
    addExecutor(at('project'), 'small', '');

    expect((await discover()).executors[0]).toEqual({
      name: 'small',
      version: '1.0.0',
      description: '',
      supportedTypes: ['power'],
      entryPoint: 'dist/index.js',
      author: '',
      dir: join(at('project'), 'executors', 'small'),
      source: 'project',
    });
  });

  test('S3-17 executor.yml is read as well, with all its fields', async () => {
    const text =
      'name: full\nversion: 2.1\ndescription: d\nsupportedTypes:\n- a\n- b\nentryPoint: lib/x.mjs\nauthor: me\n';
    write(join(at('project'), 'executors', 'full', 'executor.yml'), text);
    write(join(at('project'), 'executors', 'full', 'lib', 'x.mjs'), '');

    const { executors, problems } = await discover();

    expect(executors).toMatchObject([
      { version: '2.1', description: 'd', supportedTypes: ['a', 'b'], entryPoint: 'lib/x.mjs', author: 'me' },
    ]);
    expect(problems).toEqual([]);
  });

  test('S3-18 missing folders are not a problem', async () => {
    expect(await discover()).toEqual({ executors: [], capabilities: [], problems: [], brokenExecutors: [] });
  });

  test.each([
    ['S3-19 a folder without a definition', null, /has no executor.yaml/],
    ['S3-20 no name', { supportedTypes: ['x'] }, /has no `name`/],
    ['S3-11 a name that is no text', { name: 7, supportedTypes: ['x'] }, /has no `name`/],
    ['S3-21 no types', { name: 'a' }, /supportedTypes/],
    ['S3-21 an empty list of types', { name: 'a', supportedTypes: [] }, /supportedTypes/],
    ['S3-14 a type that is no text', { name: 'a', supportedTypes: ['x', {}] }, /supportedTypes/],
    ['an entry point outside', { name: 'a', supportedTypes: ['x'], entryPoint: '../../x.js' }, /leads out/],
    ['an absolute entry point', { name: 'a', supportedTypes: ['x'], entryPoint: '/bin/x.js' }, /leads out/],
    ['a document that is a list', ['a'], /has no `name`/],
  ])('%s is skipped with an error', async (_, config, problem) => {
    addExecutor(at('project'), 'good', '');
    const folder = join(at('project'), 'executors', 'bad');
    mkdirSync(folder);
    if (config !== null) write(join(folder, 'executor.yaml'), JSON.stringify(config));

    const index = await discover();

    expect(index.executors.map(({ name }) => name)).toEqual(['good']);
    expect(index.problems).toEqual([{ level: 'error', text: expect.stringMatching(problem) }]);
  });

  test('S3-22 a missing entry file is only a warning', async () => {
    write(join(at('project'), 'executors', 'a', 'executor.yaml'), 'name: a\nsupportedTypes: [x]\n');

    const index = await discover();

    expect(index.executors).toHaveLength(1);
    expect(index.problems).toEqual([
      { level: 'warning', text: expect.stringMatching(/dist\/index\.js, which does not exist/) },
    ]);
  });

  test('S3-23 hostile files make discovery neither fail nor block nor use much memory', async () => {
    addExecutor(at('project'), 'good', '');
    const bad = (name: string, text: string) => write(join(at('project'), 'executors', name, 'executor.yaml'), text);
    bad('broken', 'name: [\n');
    bad('large', `name: a\n# ${'x'.repeat(300_000)}`);
    bad('deep', `name: ${'['.repeat(5_000)}`);
    bad(
      'bomb',
      `a: &a [1,1,1,1,1,1,1,1,1]\n${'bcdefgh'
        .split('')
        .map((c, i) => `${c}: &${c} [${`*${'abcdefg'[i]},`.repeat(9)}]`)
        .join('\n')}\n`,
    );
    bad('proto', '{"name": "proto", "__proto__": {"supportedTypes": ["x"]}}');
    mkdirSync(join(at('project'), 'executors', 'folder', 'executor.yaml'), { recursive: true });
    mkdirSync(join(at('project'), 'executors', 'fifo'));
    execFileSync('mkfifo', [join(at('project'), 'executors', 'fifo', 'executor.yaml')]);
    symlinkSync('nowhere', join(at('project'), 'executors', 'dangling'));
    write(join(at('project'), 'executors', 'README.md'), '');
    write(join(at('project'), 'stray'), '');

    const { executors } = await discover();

    expect(executors.map(({ name }) => name)).toEqual(['good']);
    expect(await texts('error')).toHaveLength(7);
  });
});

describe('capability.yaml', () => {
  test('S3-75 S3-76 only name and type are required; inputs and the whole document are kept', async () => {
    addCapability(at('project'), 'skill', 'small');
    const inputs = [
      { name: 'files', type: 'array', required: true, description: 'which' },
      { name: 'depth', default: 3, type: 'number' },
    ];
    const more = { version: '2.0.0', description: 'd', author: 'me', tags: ['t'], inputs, outputs: [{ name: 'o' }] };
    addCapability(at('project'), 'skill', 'full', more);

    const index = await discover();

    expect(findCapability(index, 'skill', 'small')).toMatchObject({ version: '1.0.0', inputs: [], executor: null });
    expect(findCapability(index, 'skill', 'full')).toMatchObject({
      version: '2.0.0',
      description: 'd',
      inputs: [
        { name: 'files', type: 'array', required: true },
        { name: 'depth', type: 'number', required: false, default: 3 },
      ],
      config: { name: 'full', type: 'skill', ...more },
    });
  });

  test.each([
    ['no name', { type: 'skill' }],
    ['no type', { name: 'a' }],
    ['inputs that are no list', { name: 'a', type: 'skill', inputs: 'x' }],
    ['an input without a name', { name: 'a', type: 'skill', inputs: [{}] }],
  ])('S3-75 S3-76 a capability with %s is skipped with an error', async (_, config) => {
    write(join(at('project'), 'skill', 'a', 'capability.yaml'), JSON.stringify(config));

    expect((await discover()).capabilities).toEqual([]);
    expect(await texts('error')).toHaveLength(1);
  });

  test('S3-77 the nearest capability of a type and name wins: project, then global, then built-in', async () => {
    for (const folder of [builtIn(), at('home'), at('project')]) addCapability(folder, 'skill', 'a');
    for (const folder of [builtIn(), at('home')]) addCapability(folder, 'skill', 'b');
    addCapability(at('project'), 'power', 'b');

    const { capabilities, problems } = await discover();

    expect(capabilities.map(({ type, name, source }) => `${type}:${name} ${source}`)).toEqual([
      'power:b project',
      'skill:a project',
      'skill:b global',
    ]);
    expect(problems).toEqual([]);
  });

  test('S3-79 a pinned executor with an invalid name is an error and is not replaced', async () => {
    addCapability(at('project'), 'skill', 'a', { executor: ['mine'] });

    const index = await discover();

    expect(findCapability(index, 'skill', 'a')).toBeNull();
    expect(index.problems).toContainEqual(expect.objectContaining({ text: expect.stringMatching(/is not a name$/) }));
  });

  test('S3-79 a pinned executor is chosen by name, before the types', async () => {
    addExecutor(at('project'), 'by-type', '', { supportedTypes: ['skill'] });
    addExecutor(builtIn(), 'pinned', '', { supportedTypes: ['other'] });
    addCapability(at('project'), 'skill', 'a', { executor: 'pinned' });

    const index = await discover();

    expect(executorFor(index, 'skill', findCapability(index, 'skill', 'a')?.executor ?? null)?.name).toBe('pinned');
  });
});
