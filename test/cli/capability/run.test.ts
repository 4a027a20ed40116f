import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { type World, world } from '../cli-fixture.js';
import { processesIn } from '../command.js';
import { capability, describeCapability, executor } from './capability-fixture.js';

let here: World;
let tmp: string;

beforeEach(() => {
  here = world();
  tmp = join(here.dir, '..', 'tmp');
  mkdirSync(tmp);
  vi.stubEnv('TMPDIR', tmp);
  onTestFinished(() => void vi.unstubAllEnvs());
});

/** The only executor and capability of this world: `power/it`. */
function power(handler: string, more: object = {}): void {
  executor(here.dir, 'mine', ['power'], handler);
  describeCapability(here.dir, 'power', 'it', more);
}

function expectNothingLeft(): void {
  expect(readdirSync(tmp)).toEqual([]);
  expect(processesIn(here.dir)).toEqual([]);
}

describe('baton capability run', () => {
  test('prints the result on stdout, and all output of the executor on stderr', async () => {
    power(`console.log('to stdout'); console.error('to stderr'); return { ok: true, said: 'x\\u202ey' };`);

    const code = await capability(here, 'run', 'power', 'it');

    expect(code).toBe(0);
    expect(JSON.parse(here.out())).toEqual({ ok: true, said: 'x\u202ey' });
    expect(here.out()).toContain('"x\\u202ey"');
    expect(here.err().split('\n').toSorted()).toEqual(['', 'to stderr', 'to stdout']);
    expectNothingLeft();
  });

  test('shows additionalContext on stderr, beside the result on stdout', async () => {
    power(`return { result: { a: 1 }, additionalContext: { b: ['x\\u202ey'] } };`);

    expect(await capability(here, 'run', 'power', 'it')).toBe(0);
    expect(JSON.parse(here.out())).toEqual({ a: 1 });
    expect(here.err()).toContain('additionalContext: {"b":["x');
  });

  test('names an argument without effect on stderr', async () => {
    executor(here.dir, 'mine', ['power'], `await codebolt.fs.listDirectory('.', { colour: 'red' });`);
    describeCapability(here.dir, 'power', 'it');

    await capability(here, 'run', 'power', 'it');

    expect(here.err()).toMatch(/executor: mine, problem: .*colour/);
  });

  test('gives it the parameters of --params and --param, by the types of its inputs', async () => {
    const inputs = [
      { name: 'depth', type: 'number' },
      { name: 'deep', type: 'boolean' },
      { name: 'list', type: 'array' },
      { name: 'colour', type: 'string', default: 'red' },
    ];
    power(
      'const { a, b, depth, deep, list, colour } = threadContext.params; return { a, b, depth, deep, list, colour };',
      {
        inputs,
      },
    );
    const single = ['b=2=3', 'depth=4', 'deep=true', 'list=[1]'].flatMap((pair) => ['--param', pair]);

    const code = await capability(here, 'run', 'power', 'it', '--params', '{"a": {"x": 1}, "b": "no"}', ...single);

    expect(code).toBe(0);
    expect(JSON.parse(here.out())).toEqual({ a: { x: 1 }, b: '2=3', depth: 4, deep: true, list: [1], colour: 'red' });
  });

  test('works in --workspace, else in this folder', async () => {
    power(
      `await (await import('node:fs/promises')).writeFile(threadContext.projectPath + '/made', ''); return threadContext.projectPath;`,
    );
    mkdirSync(join(here.dir, 'elsewhere'));

    await capability(here, 'run', 'power', 'it');
    await capability(here, 'run', 'power', 'it', '--workspace', 'elsewhere');

    expect(here.out()).toBe(`${JSON.stringify(here.dir)}\n${JSON.stringify(join(here.dir, 'elsewhere'))}\n`);
    expect(readdirSync(here.dir)).toContain('made');
    expect(readdirSync(join(here.dir, 'elsewhere'))).toEqual(['made']);
  });

  test('gives it the environment that a run would, by the settings of the workflow', async () => {
    here.write('WORKFLOW.md', '---\ntracker: { kind: local }\nruntime: { env_allow: [SEEN] }\n---\n');
    power('return [process.env.SEEN, process.env.UNSEEN ?? null, process.env.BATON_WORKSPACE];');
    const io = { ...here, env: { ...here.env, SEEN: 'yes', UNSEEN: 'secret' } };

    const code = await capability(io, 'run', 'power', 'it');

    expect(code).toBe(0);
    expect(JSON.parse(here.out())).toEqual(['yes', null, here.dir]);
  });

  test('SEC-9b hides the state of daemons where processes can be isolated', async ({ skip }) => {
    const clock = { now: () => ({ awakeMs: 0, wallMs: 0, day: '', dayEndsAtMs: 0 }), after: () => () => {} };
    const { kind } = await detectContainment({ isolation: 'auto', hide: [], clock });
    skip(kind === 'none', 'no namespaces here');
    const state = join(here.homeDir, '.local/state/baton/x');
    mkdirSync(state, { recursive: true });
    writeFileSync(join(state, 'http-token'), 'secret');
    power(`return (await import('node:fs')).existsSync(${JSON.stringify(join(state, 'http-token'))});`);

    await capability(here, 'run', 'power', 'it');
    const inside = await capability(here, 'run', 'power', 'it', '--workspace', state);

    expect(here.out()).toBe('false\n');
    expect(inside).toBe(2);
    expect(readFileSync(join(state, 'http-token'), 'utf8')).toBe('secret');
  });

  test('exits 1 with the reason when the executor fails', async () => {
    power(`throw new Error('no such colour');`);

    const code = await capability(here, 'run', 'power', 'it');

    expect([code, here.out()]).toEqual([1, '']);
    expect(here.err()).toMatch(/baton: CAPABILITY_FAILED: no such colour\n$/);
    expectNothingLeft();
  });

  test('that takes longer than --timeout is ended, with exit 1', async () => {
    power('await new Promise((resolve) => setTimeout(resolve, 3_600_000));');

    const code = await capability(here, 'run', 'power', 'it', '--timeout', '0.5');

    expect(code).toBe(1);
    expect(here.err()).toMatch(/baton: EXECUTION_TIMEOUT: .*500 ms/);
    expectNothingLeft();
  });

  test('that is interrupted ends its processes, with exit 1', async () => {
    power(`console.log('at work'); await new Promise((resolve) => setTimeout(resolve, 3_600_000));`);
    const before = process.listeners('SIGINT');
    const write = here.stderr.write.bind(here.stderr);
    here.stderr.write = ((text: string) => {
      if (text.includes('at work'))
        for (const listener of process.listeners('SIGINT').filter((one) => !before.includes(one))) listener('SIGINT');
      return write(text);
    }) as typeof here.stderr.write;

    const code = await capability(here, 'run', 'power', 'it');

    expect(code).toBe(1);
    expect(here.err()).toMatch(/INTERRUPTED/);
    expect(process.listeners('SIGINT')).toEqual(before);
    expectNothingLeft();
  });

  test.each<[string, string[], RegExp]>([
    ['of a type that nobody runs', ['none', 'it'], /EXECUTOR_NOT_FOUND/],
    ['that is not there', ['power', 'none'], /CAPABILITY_NOT_FOUND/],
    ['without a required input', ['power', 'it'], /INVALID_REQUEST: .*needs the input goal/],
    [
      'with params that are no JSON',
      ['power', 'it', '--params', '{'],
      /INVALID_REQUEST: --params must be a JSON object/,
    ],
    [
      'with params that are a list',
      ['power', 'it', '--params', '[]'],
      /INVALID_REQUEST: --params must be a JSON object/,
    ],
    ['with a param without a value', ['power', 'it', '--param', 'x'], /INVALID_REQUEST: --param must be key=value/],
    ['with a param of the wrong type', ['power', 'it', '--param', 'n=x'], /INVALID_REQUEST: --param n must be number/],
    [
      'in a folder that is none',
      ['power', 'it', '--param', 'goal=x', '--workspace', 'no'],
      /--workspace no is no folder/,
    ],
    ['of a workflow that is none', ['power', 'it', '--workflow', 'no.md'], /missing_workflow_file/],
  ])('%s is refused with exit 2, and nothing starts', async (_, args, message) => {
    const inputs = [
      { name: 'goal', type: 'string', required: true },
      { name: 'n', type: 'number' },
    ];
    power(`console.log('started');`, { inputs });

    const code = await capability(here, 'run', ...args);

    expect([code, here.out()]).toEqual([2, '']);
    expect(here.err()).toMatch(message);
    expect(here.err()).not.toContain('started');
    expectNothingLeft();
  });

  test.each(['0', '-1', 'x', '1e9', ''])('--timeout %j is invalid', async (seconds) => {
    const io = world();

    expect(await capability(io, 'run', 'power', 'it', '--timeout', seconds)).toBe(2);
    expect(io.err()).toMatch(/number of seconds/);
  });
});
