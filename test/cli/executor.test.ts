import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { livingWith } from '../runner/contain/workbench.js';
import { newNonce } from '../runner/executors/external/external-step.js';
import { baton, type World, world } from './cli-fixture.js';

const EXAMPLE = fileURLToPath(new URL('../../templates/executors/external.example.yaml', import.meta.url));

const executor = (io: World, ...args: string[]) => baton(io, 'executor', ...args);

const workflow = (executors: string) => `---
tracker: { kind: local }
${executors}
---
Work on {{ issue.identifier }}.
`;

function withExecutors(executors: string, options: Parameters<typeof world>[0] = {}): World {
  const io = world(options);
  io.write('WORKFLOW.md', workflow(executors));
  return io;
}

const SPEC = (command: string, more = '') => `schemaVersion: 2
kind: Executor
metadata: { name: filed }
spec: { executor_type: external${command}${more} }
`;

describe('baton executor list', () => {
  test('S0-11 S0-66 lists executors by name with command and file', async () => {
    const io = withExecutors('executors: { inline: { command: ./bin/run, args: ["a b"] } }');
    io.write('.baton/executors/filed.yaml', SPEC(', command: /opt/filed'));

    const code = await executor(io, 'list');

    expect(code).toBe(0);
    expect(io.out().split('\n')).toEqual([
      expect.stringMatching(/^filed {3}\/opt\/filed {2}\(.*\.baton\/executors\/filed\.yaml\)$/),
      expect.stringMatching(/^inline {2}\.\/bin\/run 'a b' {2}\(.*WORKFLOW\.md.*\)$/),
      '',
    ]);
  });

  test('S0-05 S0-66 a definition without a command is left out', async () => {
    const io = withExecutors('executors: { inline: { command: ./bin/run } }');
    io.write('.baton/executors/filed.yaml', SPEC(''));

    expect(await executor(io, 'list')).toBe(0);
    expect(io.out()).toMatch(/^inline .*\n$/);
  });

  test('S0-15 the shipped example is not an executor of a workflow', async () => {
    const io = withExecutors('');

    expect(await executor(io, 'list')).toBe(0);
    expect(io.out()).toContain('can use no external executor');
  });

  test('a workflow that does not load is reported with a line per fault and exit code 2', async () => {
    const io = world();
    const faulty = withExecutors('agent: { max_turns: x }\nexecutors: { a: { comand: y } }');

    expect(await executor(io, 'list')).toBe(2);
    expect(io.err()).toContain('missing_workflow_file');
    for (const args of [['list'], ['test', 'a']]) expect(await executor(faulty, ...args)).toBe(2);
    expect(faulty.err().trimEnd().split('\n')).toHaveLength(4);
  });
});

describe('the example definition', () => {
  test('S0-02 S0-15 a copy of it loads without a warning', async () => {
    const io = withExecutors('');
    io.write('.baton/executors/acme-harness.yaml', readFileSync(EXAMPLE, 'utf8'));

    expect(await executor(io, 'list')).toBe(0);
    expect(io.out()).toMatch(/^acme-harness {2}\/opt\/acme\/bin\/harness run --json /);
    expect(io.err()).toBe('');
  });

  test('S0-63 it warns that registering an executor is arbitrary code execution', () => {
    const text = readFileSync(EXAMPLE, 'utf8').replace(/\n#? */g, ' ');

    expect(text).toContain('arbitrary code execution with the rights of the daemon');
  });
});

describe('baton executor test', () => {
  const leftovers = () => readdirSync(tmpdir()).filter((name) => name.startsWith('baton-executor-'));

  test('S0-66 a good executor passes every check with exit code 0 and leaves no files', async () => {
    const nonce = newNonce();
    const io = withExecutors(`executors: { acme: { command: bash, args: ["-c", "cat >kept; : ${nonce}"] } }`);
    const before = leftovers();

    const code = await executor(io, 'test', 'acme');

    expect(io.err()).toBe('');
    expect(io.out()).toContain('acme: bash -c');
    expect(io.out()).toContain('  ✓ reads its input to the end and exits with 0\n');
    expect(io.out()).toContain('  · was given an input that is not JSON: it exited with code 0\n');
    expect(io.out()).toMatch(/It keeps the protocol: 8 checks passed\.\n$/);
    expect(code).toBe(0);
    expect(leftovers()).toEqual(before);
    expect(existsSync(join(io.dir, 'kept'))).toBe(false);
    expect(livingWith(nonce)).toEqual([]);
  });

  test('S0-66 a bad executor fails with a neutralised reason, an action and exit code 1', async () => {
    const io = withExecutors(
      String.raw`executors: { acme: { command: bash, args: ["-c", "printf 'no \\033[2Jlicence' >&2; exit 7"] } }`,
    );

    const code = await executor(io, 'test', 'acme');

    expect(io.out()).toContain(
      '  ✗ reads its input to the end and exits with 0: it exited with code 7: no \\u001b[2Jlicence\n      It must exit with 0',
    );
    expect(io.out()).toMatch(/8 of 8 checks failed\.\n$/);
    expect(code).toBe(1);
  });

  test('S0-47 S0-57 a printed secret is masked, and an unset variable is a warning', async () => {
    const script = 'cat >/dev/null; echo got $TOKEN >&2; exit 1';
    const env = '{ TOKEN: $CANARY, OTHER: $NOT_SET }';
    const executors = `executors: { acme: { command: bash, args: ["-c", ${JSON.stringify(script)}], env: ${env} } }`;
    const io = withExecutors(executors, { env: { CANARY: 'canary-4711-secret' } });

    const code = await executor(io, 'test', 'acme', '--limit', '5');

    expect(code).toBe(1);
    expect(io.out()).toContain('it exited with code 1: got ***');
    expect(io.out().match(/! .* is not set: acme, OTHER, \$NOT_SET/g)).toHaveLength(1);
    expect(io.out()).not.toContain('canary-4711-secret');
  });

  test('--input gives it the input in a file', async () => {
    const script = `[[ $(cat) == *'"input":{"summary":"x"}'* || $BATON_CONFORMANCE == nonsense ]]`;
    const io = withExecutors(`executors: { acme: { command: bash, args: ["-c", ${JSON.stringify(script)}] } }`);
    io.write('input.json', '{ "summary": "x" }');

    expect(await executor(io, 'test', 'acme', '--input', 'input.json')).toBe(0);
  });

  test.each([
    ['an unknown executor', ['test', 'acne'], 'did you mean acme?'],
    ['a missing workflow', ['test', 'acme', 'no.md'], 'missing_workflow_file'],
    ['a workflow in place of the name', ['test', 'WORKFLOW.md'], 'name the executor first'],
    ['a missing input', ['test', 'acme', '--input', 'no.json'], 'no.json cannot be used'],
    ['an input that is not an object', ['test', 'acme', '--input', 'list.json'], 'must be a JSON object'],
    ['a limit of zero', ['test', 'acme', '--limit', '0'], 'It must be a number of seconds'],
  ])('%s is an error with exit code 2', async (_, args, words) => {
    const io = withExecutors('executors: { acme: { command: bash } }');
    io.write('list.json', '[]');

    expect(await executor(io, ...args)).toBe(2);
    expect(io.err()).toContain(words);
  });
});
