import { execFileSync, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { place, processesIn } from './command.js';

/** Lines that stand alone, for people to copy. */
const commandsIn = (text: string) => Array.from(text.matchAll(/^ {4,6}(node .+)$/gm), ([, command]) => command ?? '');

/** As a person does it, in the folder where the demo was started. */
const typed = (here: ReturnType<typeof place>, command: string) => {
  const env = { PATH: process.env.PATH ?? '', HOME: join(here.dir, '..', 'home') };
  const child = spawn('sh', ['-c', `exec ${command}`], { cwd: here.dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk) => (out += chunk));
  return {
    child,
    ended: new Promise<{ code: number | null; out: string }>((resolve) =>
      child.once('close', (code) => resolve({ code, out })),
    ),
    says: (words: string) => expect.poll(() => out, { timeout: 20_000 }).toContain(words),
  };
};

test('the demo finishes five issues, keeps their work, tells where it is, leaves no process, and what it says to type works', async () => {
  const here = place();
  const demo = here.startWith({ BATON_DEMO_PACE_MS: '50' }, 'demo', 'my demo');
  let opening = '';
  await new Promise<void>((resolve) => {
    demo.child.stdout?.on('data', (text: string) => {
      opening += text;
      if (opening.includes('▶')) resolve();
    });
  });

  const [status = ''] = commandsIn(opening);
  const looked = await typed(here, status).ended;
  const { code, stdout, stderr } = await demo.ended;
  const left = processesIn(here.dir);
  const [report = '', logs = '', daemon = '', open = ''] = commandsIn(stdout).slice(1);
  const reported = await typed(here, report).ended;
  const logged = await typed(here, logs).ended;
  // Another program may have that port.
  const running = typed(here, daemon.replace('--port 4711', '--port 0'));
  await running.says('serving status over HTTP');
  const opened = await typed(here, open).ended;
  running.child.kill('SIGTERM');

  expect(looked).toMatchObject({ code: 0, out: expect.stringMatching(/^Running \(\d\)/m) });
  expect(reported).toMatchObject({ code: 0, out: expect.stringContaining('5 issues worked on, 5 done') });
  expect(logged).toMatchObject({ code: 0, out: expect.stringContaining('Run 1 of TASK-1') });
  expect(opened).toMatchObject({ code: 0, out: expect.stringContaining('http://127.0.0.1:') });
  expect(daemon).toContain('--port 4711');
  expect((await running.ended).code).toBe(0);

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  // Two at a time: the third begins after one of the first two has ended.
  expect(stdout.indexOf('TASK-4   ▶')).toBeGreaterThan(stdout.search(/[✓✗]/));
  expect(stdout).toMatch(
    /TASK-3 {3}✗ failed.*\nTASK-3 {5}tries again in [\d.]+ s\n[\s\S]*TASK-3 {3}▶ .*\(run 2, retry\)/,
  );
  expect(stdout).toMatch(/TASK-4 {5}turn 2 began/);
  expect(stdout.indexOf('TASK-2   ▶')).toBeGreaterThan(stdout.indexOf('TASK-1   ✓'));
  expect(stdout).toContain('All 5 issues are done.');
  expect(stdout).toContain("git -C 'my demo/project.git' log --all");
  const repository = join(here.dir, 'my demo', 'project.git');
  const branches = execFileSync('git', ['-C', repository, 'branch', '--format=%(refname:short)'], { encoding: 'utf8' });
  expect(branches.trim().split('\n')).toEqual([
    'baton/TASK-1',
    'baton/TASK-2',
    'baton/TASK-3',
    'baton/TASK-4',
    'baton/TASK-5',
    'main',
  ]);
  expect(execFileSync('git', ['-C', repository, 'show', 'baton/TASK-1:greeting.txt'], { encoding: 'utf8' })).toContain(
    'Hello',
  );
  for (const name of readdirSync(join(here.dir, 'my demo/backlog/tasks')))
    expect(here.read(`my demo/backlog/tasks/${name}`)).toContain('status: Done');
  expect(left).toEqual([]);
});

test('with an agent that is not installed the demo says what is missing, and exits 1', async () => {
  const here = place();

  const { code, stdout } = await here.baton('demo', 'tryout', '--agent', 'codex');

  expect(stdout).toMatch(/did not come to its end: .*codex/);
  expect(code).toBe(1);
});

test('a demo that is stopped says so, leaves no process, and exits 1', async () => {
  const here = place();
  const { child, ended } = here.start('demo');
  await new Promise<void>((resolve) => {
    child.stdout?.on('data', (text: string) => text.includes('▶') && resolve());
  });

  child.kill('SIGTERM');
  const { code, stdout } = await ended;

  expect(stdout).toContain('The demo did not come to its end: it was stopped before everything was done');
  expect({ code, left: processesIn(here.dir) }).toEqual({ code: 1, left: [] });
});
