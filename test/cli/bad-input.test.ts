import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const MAIN = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
let dir: string;

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton-cli-')));
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

function baton(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { PATH: process.env.PATH ?? '', HOME: dir };
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...args], { cwd: dir, env, timeout: 20_000 }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr });
    });
  });
}

describe('invalid input', () => {
  test.each<[string, string | null, RegExp]>([
    ['no WORKFLOW.md', null, /missing_workflow_file[\s\S]*WORKFLOW\.md/],
    ['an empty file', '', /invalid_workflow_config[\s\S]*tracker[\s\S]*front matter/],
    ['a file that was half written', '---\ntracker:\n  kind: lin', /workflow_parse_error/],
    ['front matter that is a list', '---\n- a\n- b\n---\n', /workflow_front_matter_not_a_map/],
    ['bad YAML', '---\ntracker: {\n---\n', /workflow_parse_error[\s\S]*WORKFLOW\.md:\d+:\d+/],
    [
      'a number that is a word',
      '---\ntracker: { kind: linear }\nagent:\n  max_turns: many\n---\n',
      /WORKFLOW\.md:4:\d+ agent\.max_turns .*many/,
    ],
    ['an unknown tracker', '---\ntracker: { kind: linaer }\n---\n', /unsupported_tracker_kind|invalid_workflow_config/],
  ])('%s: one clear message, exit code 2, nothing created', async (_, text, message) => {
    if (text !== null) writeFileSync(join(dir, 'WORKFLOW.md'), text);

    const { code, stdout, stderr } = await baton();

    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  test('a FIFO in place of WORKFLOW.md does not block', async () => {
    execFileSync('mkfifo', [join(dir, 'WORKFLOW.md')]);

    expect(await baton()).toMatchObject({ code: 2, stderr: expect.stringContaining('missing_workflow_file') });
  });

  test('a folder in place of WORKFLOW.md is reported as a folder', async () => {
    mkdirSync(join(dir, 'WORKFLOW.md'));

    expect(await baton('WORKFLOW.md')).toMatchObject({ code: 2, stderr: expect.stringContaining('WORKFLOW.md') });
  });

  test.each([
    [['--port-range'], "unknown option '--port-range'"],
    [['--onec'], 'Did you mean --once?'],
    [['--log-level', 'loud'], 'Allowed choices are trace, debug, info'],
    [['--port', 'http'], 'a number from 0 to 65535'],
    [['--port', '65536'], 'a number from 0 to 65535'],
    [['run', '--issue'], "'--issue <id>' argument missing"],
    [['run', '--issue', ' '], 'the name of an issue'],
    [['--dry-run', '--issue', 'TASK-1'], "cannot be used with option '--issue"],
    [['a.md', 'b.md'], "run takes one workflow file; unexpected: 'b.md'"],
    [['chekc'], 'Did you mean check?'],
    [['chekc', 'WORKFLOW.md'], 'Did you mean check?'],
    [['Check'], 'Did you mean check?'],
    [['halt', 'TASK-1'], "neither a command nor a file 'halt'"],
    [['elsewhere'], "neither a command nor a file 'elsewhere'"],
    [['nowhere/WORKFLOW.md'], 'nowhere/WORKFLOW.md does not exist'],
    [[], '`baton init` writes one'],
    [['demo', '--agent', 'claude'], 'Allowed choices are demo, codex'],
    [['render'], "missing required argument 'issue'"],
    [['init', '--tracker', 'lokal'], 'use local'],
  ])('%j is refused with the reason', async (args, message) => {
    expect(await baton(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });

  test('--help has the commands by use: to begin with, to look and steer, and then the rest', async () => {
    const { stdout } = await baton('--help');

    const names = Array.from(stdout.matchAll(/^ {2}([a-z]+) .*$/gm), ([, name]) => name).slice(0, 24);
    expect(names.slice(0, 4)).toEqual(['run', 'demo', 'init', 'check']);
    expect(names.slice(4, 8)).toEqual(['status', 'logs', 'explain', 'answer']);
    expect(names.slice(16, 19)).toEqual(['service', 'report', 'notify']);
    expect(names).toHaveLength(new Set(names).size);
  });

  test.each([['run'], ['demo'], ['report'], ['notify', 'test'], ['recover'], ['status'], ['explain']])(
    'the help of %s spells defaults without quotes',
    async (...command) => {
      const { code, stdout } = await baton(...command, '--help');

      expect(code).toBe(0);
      expect(stdout).not.toMatch(/default: "/);
    },
  );

  test.each([['report'], ['notify', 'test'], ['logs'], ['open'], ['refresh'], ['status'], ['answer']])(
    'the help of %s lists its exit codes',
    async (...command) => {
      expect((await baton(...command, '--help')).stdout).toContain('Exit codes: 0 ');
    },
  );

  test('--help and --version answer', async () => {
    const { code, stdout } = await baton('--help');

    expect(code).toBe(0);
    for (const word of ['--once', '--state-dir', 'demo', 'init', 'check', 'render', 'Examples:', 'Exit codes:'])
      expect(stdout).toContain(word);
    for (const example of ['baton status', 'baton answer TASK-1', 'baton explain TASK-1'])
      expect(stdout).toContain(`\n  ${example}`);
    expect(stdout).toMatch(
      /Exit codes: 0 success; 1 failed or refused; 2 usage, settings, no running daemon, or a second/,
    );
    expect(stdout).toMatch(/--port <port> .*the page and the API/);
    expect(await baton('--version')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });
});
