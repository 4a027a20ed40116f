import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { removeTree } from '../../../../runner/executors/capability/api/workspace-files.js';
import type { Fields } from '../../../../src/domain/json.js';
import { capabilityBench, handler, outputOf, write } from './harness.js';

/** The result of each call: its value, or the message of its error. */
const tryAll = (...calls: readonly string[]) =>
  handler(`
    const { fs, terminal, project, chat, capability } = codebolt;
    const calls = [${calls.map((call) => `() => ${call}`).join(', ')}];
    const results = [];
    for (const call of calls) results.push(await call().catch((error) => 'error: ' + error.message));
    return { results };`);

async function results(bench: Awaited<ReturnType<typeof capabilityBench>>, params: { [name: string]: string } = {}) {
  return outputOf(await bench.execute('try', params)).results as readonly unknown[];
}

describe('fs', () => {
  test('S3-63 files can be read, created, changed, deleted and searched', async () => {
    const bench = await capabilityBench(
      tryAll(
        "fs.readFile('src/a.ts')",
        "fs.createFile('new/deep/b.ts', 'one\\nTODO two\\n')",
        "fs.readManyFiles(['src/a.ts', 'gone'])",
        "fs.searchFiles('TODO', 'new/')",
        "fs.grepSearch('con[s]ole\\\\.log', '.')",
        "fs.grepSearch('ole', 'src/a.ts')",
        "fs.updateFile('src/a.ts', 'short')",
        "fs.updateFile('gone', 'x')",
        "fs.deleteFile('src/old.ts')",
        "fs.deleteFolder('drop')",
        'project.getProjectFiles()',
        'project.getProjectPath()',
      ),
    );
    write(join(bench.workspace, 'src/a.ts'), 'console.log(1)\n');
    write(join(bench.workspace, 'src/old.ts'), '');
    write(join(bench.workspace, 'drop/x/y'), '');
    write(join(bench.workspace, '.git/config'), 'console.log');

    const [read, , many, searched, grepped, inFile, , updated, , , files, path] = await results(bench);

    expect(read).toBe('console.log(1)\n');
    expect(many).toEqual([
      { path: 'src/a.ts', success: true, content: 'console.log(1)\n' },
      { path: 'gone', success: false, content: '', error: expect.stringContaining('ENOENT') },
    ]);
    expect(searched).toEqual([{ path: 'new/deep/b.ts', line: 2, text: 'TODO two' }]);
    expect(grepped).toEqual([{ path: 'src/a.ts', line: 1, text: 'console.log(1)' }]);
    expect(inFile).toEqual(grepped);
    expect(updated).toMatch(/ENOENT/);
    expect(readFileSync(join(bench.workspace, 'src/a.ts'), 'utf8')).toBe('short');
    expect(existsSync(join(bench.workspace, 'drop'))).toBe(false);
    expect(files).toEqual(['new/deep/b.ts', 'src/a.ts']);
    expect(path).toBe(bench.workspace);
  });

  const OUT = '../outside/secret';

  test('S3-63 no path leads outside the workspace: not with .., an absolute path or a link', async () => {
    const bench = await capabilityBench('');
    const root = dirname(bench.workspace);
    const secret = write(join(root, 'outside/secret'), 'hidden');
    for (const [name, target] of [
      ['link', secret],
      ['folder', join(root, 'outside')],
      ['up', '..'],
      ['dangling', join(root, 'outside/made')],
      ['self', 'self'],
    ] as const) {
      symlinkSync(target, join(bench.workspace, name));
    }
    const paths = [
      OUT,
      secret,
      'link',
      'folder/secret',
      'up/outside/secret',
      'a/../../outside/secret',
      '\0',
      '',
      'self',
    ];
    const calls = paths.flatMap((path) => {
      const text = JSON.stringify(path);
      return [
        ...[`fs.readFile(${text})`, `fs.updateFile(${text}, 'x')`, `fs.createFile(${text}, 'x')`],
        ...[`fs.searchFiles('hidden', ${JSON.stringify(path === '' ? '..' : path)})`],
      ];
    });
    calls.push(
      "fs.createFile('dangling', 'x')",
      "fs.createFile('folder/new', 'x')",
      "fs.createFile('up/new/deep', 'x')",
    );
    calls.push(
      "fs.deleteFile('folder/secret')",
      "fs.deleteFolder('folder')",
      "fs.deleteFolder('up/outside')",
      "fs.deleteFolder('.')",
    );
    write(join(bench.folder, 'executors/test/dist/index.js'), tryAll(...calls));

    const all = await results(bench);

    expect(all.filter((result) => !String(result).startsWith('error: '))).toEqual([]);
    expect(readFileSync(secret, 'utf8')).toBe('hidden');
    expect(existsSync(join(root, 'outside/made'))).toBe(false);
    expect(existsSync(join(root, 'outside/new'))).toBe(false);
    expect(existsSync(join(root, 'new'))).toBe(false);
  });

  test('S3-63 deleting a folder removes its links but not their targets, and links to files inside can be read', async () => {
    const bench = await capabilityBench(
      tryAll(
        "fs.readFile('inner')",
        "fs.deleteFile('inner')",
        "fs.deleteFolder('drop')",
        "fs.readFile(process.env.BATON_WORKSPACE + '/a')",
      ),
    );
    const outside = write(join(dirname(bench.workspace), 'outside/kept'), 'kept');
    write(join(bench.workspace, 'a'), 'A');
    symlinkSync('a', join(bench.workspace, 'inner'));
    mkdirSync(join(bench.workspace, 'drop/sub'), { recursive: true });
    symlinkSync(dirname(outside), join(bench.workspace, 'drop/sub/link'));

    expect(await results(bench)).toEqual(['A', null, null, 'A']);
    expect(existsSync(join(bench.workspace, 'drop'))).toBe(false);
    expect(existsSync(join(bench.workspace, 'a'))).toBe(true);
    expect(readFileSync(outside, 'utf8')).toBe('kept');
  });

  test('an error names the path as it was written, not the one that the daemon uses', async () => {
    const bench = await capabilityBench(
      tryAll(
        "fs.updateFile('src/gone', 'x')",
        "fs.deleteFile('src/gone')",
        "fs.deleteFolder('src/gone')",
        "fs.deleteFolder('src/a.ts')",
        "fs.createFile('src/a.ts/b', 'x')",
        "fs.createFolder('src/a.ts/b')",
        "fs.readFile('loop/x')",
      ),
    );
    write(join(bench.workspace, 'src/a.ts'), '');

    const all = await results(bench);

    expect(all.filter((result) => !/^error: E[A-Z]+: .*(?:src|loop)\//.test(String(result)))).toEqual([]);
    expect(all.join()).not.toContain('/proc/');
  });

  test('a large file, and anything that is not a regular file, is refused without blocking', async () => {
    const bench = await capabilityBench(
      tryAll(
        "fs.readFile('pipe')",
        "fs.createFile('pipe', 'x')",
        "fs.readFile('.')",
        "fs.readFile('large')",
        "fs.grepSearch('(', '.')",
      ),
    );
    execFileSync('mkfifo', [join(bench.workspace, 'pipe')]);
    write(join(bench.workspace, 'large'), 'x'.repeat(5 * 1024 * 1024));

    const all = await results(bench);

    expect(all.filter((result) => !String(result).startsWith('error: '))).toEqual([]);
    expect(all[3]).toMatch(/larger than/);
    expect(all[4]).toMatch(/regular expression/i);
  });

  test('a pattern that never ends does not block the daemon, and the end of the execution stops it', async () => {
    const bench = await capabilityBench(
      handler(`
        for (const pattern of ['(a+)+$', 'b', 'c', 'd']) codebolt.fs.grepSearch(pattern, 'a').catch(() => {});
        await codebolt.terminal.executeCommand('true');
        return { path: await codebolt.project.getProjectPath() };`),
    );
    write(join(bench.workspace, 'a'), `${'a'.repeat(60)}!\n`);

    expect(outputOf(await bench.execute('try'))).toEqual({ path: bench.workspace });
    // The executor, its command, and one search at a time.
    expect(bench.processes).toHaveLength(3);
  });

  test('the number and the size of search results are bounded', async () => {
    const bench = await capabilityBench(handler("return { found: (await codebolt.fs.grepSearch('.')).length };"));
    const deep = Array.from({ length: 12 }, () => 'd'.repeat(200));
    write(join(bench.workspace, ...deep, 'f'), `${'\u0001'.repeat(500)}\n`.repeat(1_000));

    const { found } = outputOf(await bench.execute('try')) as { found: number };

    expect(found).toBeGreaterThan(500);
    expect(found).toBeLessThan(1_000);
  });

  test('the end of an execution stops the deletion of a folder halfway', async () => {
    const bench = await capabilityBench('');
    const folder = join(bench.workspace, 'large');
    write(join(folder, 'a/b'), '');

    await expect(removeTree(folder, AbortSignal.abort())).rejects.toThrow(/is over/);

    expect(existsSync(join(folder, 'a/b'))).toBe(true);
  });
});

describe('terminal', () => {
  test('S3-64 S3-62 a command runs in the workspace and returns exit code and output', async () => {
    const bench = await capabilityBench(
      tryAll(
        "terminal.executeCommand('pwd; echo oops >&2; exit 3')",
        "terminal.executeCommandRunUntilError('echo once; false')",
        "terminal.executeCommand('head -c 3000000 /dev/zero')",
        "terminal.executeCommand('')",
        "terminal.executeCommand('cat')",
      ),
    );

    const [first, second, large, empty, cat] = await results(bench);

    const workspace = realpathSync(bench.workspace);
    expect(first).toEqual({ exitCode: 3, stdout: `${workspace}\n`, stderr: 'oops\n', truncated: false });
    expect(second).toEqual({ exitCode: 1, stdout: 'once\n', stderr: '', truncated: false });
    expect((large as Fields).truncated).toBe(true);
    expect((large as { stdout: string }).stdout.length).toBeLessThan(600_000);
    expect(empty).toMatch(/command is missing/);
    expect(cat).toMatchObject({ exitCode: 0, stdout: '' });
    expect(bench.audits).toContainEqual(
      expect.objectContaining({ kind: 'capability_command', data: expect.objectContaining({ exit_code: 3 }) }),
    );
  });

  test('a long command is cut in the transcript, and so is the reason of a refusal, with a mark', async () => {
    const long = 'x'.repeat(3_000);
    const bench = await capabilityBench(
      tryAll(`terminal.executeCommand(': ${long}')`, `fs.readFile('${long}/${'y/'.repeat(300)}')`),
    );

    const [, refusal] = await results(bench);

    const commands = bench.audits.filter(({ kind }) => kind === 'capability_command').map(({ data }) => data);
    expect(commands).toMatchObject([{ command: `: ${'x'.repeat(498)}`, truncated: true }]);
    expect(refusal).toMatch(/x …$/);
  });

  test('at most eight commands run at a time, even when they are requested at once', async () => {
    const bench = await capabilityBench(
      handler(`
        const command = 'until [ -e go ]; do sleep 0.02; done';
        const runs = Array.from({ length: 12 }, () => codebolt.terminal.executeCommand(command).then(() => 'ran', String));
        await codebolt.fs.createFile('go', '');
        return { refused: (await Promise.all(runs)).filter((end) => end !== 'ran') };`),
    );

    const refusal = expect.stringMatching(/more than 8 commands/);
    expect(outputOf(await bench.execute('try'))).toEqual({ refused: Array(4).fill(refusal) });
  });

  test('S3-64 an interrupt stops the running commands', async () => {
    const bench = await capabilityBench(
      handler(`
        const running = codebolt.terminal.executeCommandRunUntilError('touch started; sleep 1000');
        while ((await codebolt.fs.searchFiles('started')).length === 0);
        const answer = await codebolt.terminal.sendManualInterrupt();
        return { answer, ended: await running };`),
    );

    expect(outputOf(await bench.execute('try'))).toMatchObject({
      answer: { interrupted: 1 },
      ended: { exitCode: 143 },
    });
  });

  test('S3-53 the end of an execution stops its running commands', async () => {
    const bench = await capabilityBench(
      handler(`
        void codebolt.terminal.executeCommand('touch started; sleep 1000').catch(() => {});
        while ((await codebolt.fs.searchFiles('started')).length === 0);
        return 1;`),
    );

    expect(outputOf(await bench.execute('try'))).toBe(1);
    for (const process of bench.processes) await process.exited;
  });
});

describe('forbidden calls of an executor', () => {
  test('S3-67 S3-68 it cannot receive messages or start agents; its own messages go to the transcript', async () => {
    const bench = await capabilityBench(
      tryAll(
        "chat.sendMessage('half way')",
        "chat.waitForReply('and now?')",
        "capability.startCapability('x', 'agent')",
      ),
    );

    const [sent, replied, agent] = await results(bench);

    expect(sent).toBeNull();
    expect(replied).toMatch(/cannot receive messages of users/);
    expect(agent).toMatchObject({ success: false, code: 'EXECUTOR_NOT_FOUND' });
    expect(bench.audits).toContainEqual({
      kind: 'capability_message',
      data: { execution_id: expect.stringMatching(/^cap_/), text: 'half way' },
    });
  });
});
