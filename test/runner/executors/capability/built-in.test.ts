import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { scaffoldExecutor } from '../../../../runner/executors/capability/scaffold-executor.js';
import type { Fields } from '../../../../src/domain/json.js';
import { addCapability, capabilityBench, errorOf, outputOf, write } from './harness.js';

/** A bench with one skill, `greet`, whose folder holds these files. */
async function skillBench(files: { readonly [name: string]: string }, config: Fields = {}) {
  const bench = await capabilityBench('');
  const dir = addCapability(bench.folder, 'skill', 'greet', config);
  for (const [name, text] of Object.entries(files)) write(join(dir, name), text, 0o755);
  return { ...bench, dir, run: (params = {}) => bench.execute('greet', params, 'skill') };
}

describe('the built-in executor of skills', () => {
  test('runs run.sh in the workspace, with its inputs as variables and as JSON on stdin', async () => {
    const script =
      'read -r all\npwd\necho "$INPUT_WHO_S $INPUT_N $INPUT_LIST"\necho "$all"\necho "token:$threadToken"\n';
    const bench = await skillBench({ 'run.sh': script }, { inputs: [{ name: 'n', type: 'number', default: 3 }] });

    const output = outputOf(await bench.run({ 'who-s': "it's $(me)", list: [1, 2], huge: 'x'.repeat(100_000) }));

    const [cwd, variables, stdin = '', token] = String(output.stdout).split('\n');
    expect(cwd).toBe(bench.workspace);
    expect(variables).toBe("it's $(me) 3 [1,2]");
    expect(JSON.parse(stdin)).toEqual({ 'who-s': "it's $(me)", list: [1, 2], n: 3, huge: 'x'.repeat(100_000) });
    expect(token).toBe('token:');
    expect(output).toMatchObject({ stderr: '', exit_code: 0 });
  });

  test.each([
    ['run.mjs', 'console.log(JSON.stringify({ by: "mjs" }))', { by: 'mjs' }],
    ['run.js', 'console.log(JSON.stringify({ by: "js" }))', { by: 'js' }],
    ['run.py', 'print(\'{"by": "py"}\')', { by: 'py' }],
    ['run', '#!/bin/sh\necho \'["run"]\'', ['run']],
  ])('runs %s, and its JSON output is the result', async (name, text, output) => {
    const bench = await skillBench({ [name]: text });

    expect(outputOf(await bench.run())).toEqual(output);
  });

  test('runs the script that capability.yaml names, and only from the folder of the skill', async () => {
    const files = { 'lib/mine.sh': 'echo null', 'run.sh': 'exit 1' };

    expect(await (await skillBench(files, { script: 'lib/mine.sh' })).run()).toMatchObject({
      state: 'success',
      output: null,
    });
    for (const script of ['../../../../evil.sh', 'link.sh', 'gone.sh', 7]) {
      const bench = await skillBench(files, { script });
      write(join(bench.project, 'evil.sh'), 'echo 1');
      symlinkSync(join(bench.project, 'evil.sh'), join(bench.dir, 'link.sh'));
      expect(errorOf(await bench.run()).code).toBe('CAPABILITY_FAILED');
    }
  });

  test('a script can open /dev/stdin, also twice, for inputs of any size', async () => {
    const bench = await skillBench({ 'run.sh': 'cat < /dev/stdin | wc -c; exec 5< /dev/stdin; cat <&5 | wc -c' });

    const { stdout } = outputOf(await bench.run({ text: 'x'.repeat(1_000_000) }));

    expect(String(stdout).trim().split(/\s+/)).toEqual(Array(2).fill(String('{"text":""}'.length + 1_000_000)));
  });

  test('the error of a failed script has its exit code and the end of its stderr', async () => {
    const bench = await skillBench({ 'run.sh': 'echo partly; echo "went wrong" >&2; exit 4' });

    expect(errorOf(await bench.run())).toMatchObject({
      code: 'CAPABILITY_FAILED',
      message: 'skill greet: the script of greet exited with code 4: went wrong',
    });
  });

  test.each([
    [3_000, /exited with code 4: … x{2000}$/],
    [5_000_000, /exited with code 4: … x{1998} …$/],
  ])('the end of a stderr of %i bytes is marked as cut', async (bytes, message) => {
    const bench = await skillBench({ 'run.sh': `head -c ${bytes} /dev/zero | tr "\\0" x >&2; exit 4` });

    expect(errorOf(await bench.run())).toMatchObject({ code: 'CAPABILITY_FAILED', message });
  });

  test('output of more than 4 MiB is cut and marked', async () => {
    const bench = await skillBench({ 'run.sh': 'head -c 5000000 /dev/zero | tr "\\0" x' });

    const { stdout, ...others } = outputOf(await bench.run());

    expect(String(stdout)).toHaveLength(4 * 1024 * 1024);
    expect(others).toEqual({ stderr: '', exit_code: 0, stdout_truncated: true });
  });

  test('a process that a script leaves behind does not delay the result', async () => {
    const bench = await skillBench({ 'run.sh': 'sleep 1000 & echo 5' });

    expect(outputOf(await bench.run())).toBe(5);
  });
});

describe('the scaffold', () => {
  test('S3-71 creates an executor that works at once', async () => {
    const bench = await capabilityBench('');
    const options = { dir: bench.folder, name: 'mine', supportedTypes: ['talent'], description: 'of mine' };

    const { dir } = await scaffoldExecutor(options);
    addCapability(bench.folder, 'talent', 'sing');

    expect(dir).toBe(join(bench.folder, 'executors', 'mine'));
    expect(readdirSync(dir).sort()).toEqual(['dist', 'executor.yaml', 'package.json']);
    expect(JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))).toMatchObject({
      name: 'mine',
      main: 'dist/index.js',
    });
    expect(outputOf(await bench.execute('sing', {}, 'talent'))).toMatchObject({ message: 'talent sing ran' });
    expect((await bench.manager.index(bench.project)).executors).toContainEqual(
      expect.objectContaining({ name: 'mine', version: '1.0.0', description: 'of mine', supportedTypes: ['talent'] }),
    );
  });

  test('S3-71 the entry point can be chosen, an ES module too', async () => {
    const bench = await capabilityBench('');
    await scaffoldExecutor({
      dir: bench.folder,
      name: 'm',
      version: '2.0.0',
      supportedTypes: ['x: y'],
      entryPoint: 'lib/main.mjs',
    });
    addCapability(bench.folder, 'x: y', 'go');

    expect(outputOf(await bench.execute('go', {}, 'x: y'))).toMatchObject({ message: 'x: y go ran' });
  });

  test('S3-71 nothing is overwritten, and nothing is written outside the folder', async () => {
    const bench = await capabilityBench('mine');
    const scaffold = (changes: object) =>
      scaffoldExecutor({ dir: bench.folder, name: 'new', supportedTypes: ['x'], ...changes });

    for (const changes of [
      { name: 'test' },
      { name: '../up' },
      { name: '.hidden' },
      { name: 'UPPER' },
      { name: '' },
      { name: 'a'.repeat(65) },
      { supportedTypes: [] },
      { supportedTypes: [''] },
      { supportedTypes: Array(201).fill('x') },
      { entryPoint: '../out.js' },
      { entryPoint: '/out.js' },
      { entryPoint: 'executor.yaml' },
    ]) {
      await expect(scaffold(changes)).rejects.toMatchObject({ name: 'BatonError', code: 'INVALID_REQUEST' });
    }
    expect(readdirSync(join(bench.folder, 'executors'))).toEqual(['test']);
    expect(readFileSync(join(bench.folder, 'executors/test/dist/index.js'), 'utf8')).toBe('mine');
    expect(existsSync(join(bench.folder, 'up'))).toBe(false);
  });
});
