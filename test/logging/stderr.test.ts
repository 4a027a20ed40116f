import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { DIST } from '../support/dist.js';

describe('standard error of a real process', () => {
  let children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children) child.kill('SIGKILL');
    children = [];
  });

  /** Runs `body` with `log` and `terminalSink` in scope; stdout is for the test. */
  function start(body: string, stderr: 'pipe' | number = 'pipe') {
    const at = (file: string) => JSON.stringify(pathToFileURL(join(DIST, 'src/logging', file)).href);
    const script = `
      const { terminalSink } = await import(${at('logger.js')});
      const logger = async () => {
        const { createLogger } = await import(${at('logger.js')});
        const { createRedactor } = await import(${at('redact.js')});
        return createLogger({ level: 'info', redactor: createRedactor() });
      };
      ${body}`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', stderr] });
    children.push(child);
    const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
    return { child, exited };
  }

  test('gets every line, even right before a crash', async () => {
    const { child, exited } = start(
      `const log = await logger(); for (let i = 0; i < 2000; i++) log.info({ i }, 'line'); process.kill(process.pid, 'SIGKILL');`,
    );
    let text = '';
    child.stderr?.on('data', (chunk) => {
      text += chunk;
    });

    await Promise.all([exited, new Promise((resolve) => child.stderr?.once('end', resolve))]);

    expect(
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).i),
    ).toEqual([...Array(2000).keys()]);
  });

  test('may be a file with several writers: nothing is overwritten', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'baton-stderr-'));
    const file = join(folder, 'log');
    const fd = openSync(file, constants.O_WRONLY | constants.O_CREAT);

    const { exited } = start(
      `const log = await logger(); for (let i = 0; i < 3; i++) { log.info('ours'); process.stderr.write('theirs\\n'); }`,
      fd,
    );
    await exited;
    closeSync(fd);

    const lines = readFileSync(file, 'utf8').trim().split('\n');
    rmSync(folder, { recursive: true });
    expect(lines.map((line) => (line === 'theirs' ? line : JSON.parse(line).msg))).toEqual(
      Array(3).fill(['ours', 'theirs']).flat(),
    );
  });

  test('may be closed by its reader: the process continues', async () => {
    const { child, exited } = start(`
      const log = await logger();
      process.stdin.once('data', () => { for (let i = 0; i < 100; i++) log.info('x'); console.log('alive'); process.exit(0); });
      console.log('ready');`);
    await firstLine(child);

    child.stderr?.destroy();
    const answered = firstLine(child);
    child.stdin?.write('go');

    expect(await answered).toBe('alive');
    expect(await exited).toBe(0);
  });

  test('may have a reader that never reads: the process continues', async () => {
    // A pipe as a shell creates it; Node itself gives its children a socket.
    const dir = mkdtempSync(join(tmpdir(), 'baton-stderr-'));
    const path = join(dir, 'pipe');
    execFileSync('mkfifo', [path]);
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = openSync(path, constants.O_WRONLY);

    const { child, exited } = start(
      `const sink = terminalSink(2);
       let refused = 0;
       for (let i = 0; i < 50; i++) try { sink.write('x'.repeat(100_000)); } catch (error) { if (error.code === 'EAGAIN') refused += 1; }
       process.stdout.write('refused ' + refused);`,
      writer,
    );
    closeSync(writer);
    const answer = await firstLine(child);
    closeSync(reader);
    rmSync(dir, { recursive: true });

    expect(answer).toBe('refused 50');
    expect(await exited).toBe(0);
  });
});

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => child.stdout?.once('data', (chunk) => resolve(String(chunk).trim())));
}
