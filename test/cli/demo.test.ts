import { execFile, execFileSync, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { makeDemo } from '../../src/cli/demo.js';
import { demoAgentCommand } from '../../src/demo/demo-agent-command.js';
import { loadWorkflow } from '../../src/workflow/load-workflow.js';
import { compilePrompt } from '../../templates/render-prompt.js';
import { tempFolder } from '../runner/workspace/temp-folder.js';
import { asOrdinaryUser } from '../support/as-ordinary-user.js';
import { issue } from '../support/builders.js';
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

test('the demo finishes five issues, keeps their work, leaves no process, and its printed commands work', async () => {
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

test('without the agent the demo names it and exits with 1', async () => {
  const here = place();

  const { code, stdout } = await here.baton('demo', 'tryout', '--agent', 'codex');

  expect(stdout).toMatch(/did not finish: .*codex/);
  expect(code).toBe(1);
});

test('a stopped demo leaves no process and exits with 1', async () => {
  const here = place();
  const { child, ended } = here.start('demo');
  await new Promise<void>((resolve) => {
    child.stdout?.on('data', (text: string) => text.includes('▶') && resolve());
  });

  child.kill('SIGTERM');
  const { code, stdout } = await ended;

  expect(stdout).toContain('The demo did not finish: it was stopped before all issues were done');
  expect({ code, left: processesIn(here.dir) }).toEqual({ code: 1, left: [] });
});

const LOCAL = new Map([['local', { activeStates: ['To Do', 'In Progress'], terminalStates: ['Done'] }]]);
const make = (dir: string, agentCommand = 'codex app-server') =>
  makeDemo(dir, { agentCommand, env: { PATH: process.env.PATH } });
const git = async (repository: string, ...args: string[]) =>
  (await promisify(execFile)('git', ['--git-dir', repository, ...args])).stdout.trim();

test('the workflow loads without a warning, and names the folders beside it', async () => {
  const demo = await make(join(await tempFolder(), 'demo'), `'/opt/a b/node' "x"`);

  const { workflow } = await loadWorkflow(demo.workflowPath, { env: {}, homeDir: '/', trackerKinds: LOCAL });

  expect(workflow.warnings).toEqual([]);
  expect(workflow.config).toMatchObject({
    tracker: { kind: 'local', provider: { path: './backlog' }, activeStates: ['To Do', 'In Progress'] },
    workspace: { root: demo.workspaces },
    agent: { maxConcurrentAgents: 2, maxRetryBackoffMs: 1_500 },
    codex: { command: `'/opt/a b/node' "x"` },
  });
  const prompt = compilePrompt(workflow.prompt).render({
    issue: issue({ identifier: 'TASK-1', description: '- run `ls`' }),
    attempt: 1,
    run: { id: 'r', number: 1, reason: 'retry', workspace: '/w' },
    workflow: { path: '/p/WORKFLOW.md', dir: '/p' },
  });
  expect(prompt).toContain('- run `ls`');
  expect(prompt).toContain('not the first run');
});

test('the repository has one commit on main, without data of the user', async () => {
  const demo = await make(join(await tempFolder(), 'demo'));

  expect(await git(demo.repository, 'symbolic-ref', 'HEAD')).toBe('refs/heads/main');
  expect(await git(demo.repository, 'log', '--all', '--format=%an <%ae> %s')).toBe(
    'Baton demo <baton@localhost> Begin',
  );
  expect(await git(demo.repository, 'show', 'main:README.md')).toContain('A small project');
  expect(await git(demo.repository, 'fsck', '--strict')).toBe('');
});

test('the git settings of the user have no effect', async () => {
  const base = await tempFolder();
  const config = '[init]\n\tdefaultBranch = trunk\n[commit]\n\tgpgsign = true\n[user]\n\tuseConfigOnly = true\n';
  await writeFile(join(base, '.gitconfig'), config);
  const env = { PATH: process.env.PATH, HOME: base, GIT_DIR: '/nowhere', GIT_CONFIG_GLOBAL: join(base, '.gitconfig') };

  const demo = await makeDemo(join(base, 'demo'), { agentCommand: 'x', env });

  expect(await git(demo.repository, 'rev-parse', '--abbrev-ref', 'HEAD')).toBe('main');
});

test('the issues are in the format of Backlog.md: one waits for another, one is low in priority', async () => {
  const demo = await make(join(await tempFolder(), 'demo'));

  const names = (await readdir(join(demo.backlog, 'tasks'))).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(demo.backlog, 'tasks', name), 'utf8')));
  const fronts = texts.map((text) => parse(text.split('---\n')[1] ?? ''));
  expect(names[0]).toBe('task-1 - Write-a-greeting.md');
  expect(fronts.map(({ id, title }) => ({ identifier: id, title }))).toEqual(demo.issues);
  expect(fronts.map(({ dependencies }) => dependencies)).toEqual([[], ['TASK-1'], [], [], []]);
  expect(fronts.map(({ priority }) => priority)).toEqual(['high', 'high', 'high', 'medium', 'low']);
  expect(new Set(fronts.map(({ status }) => status))).toEqual(new Set(['To Do']));
  for (const text of texts) {
    expect(text).toMatch(/<!-- SECTION:DESCRIPTION:BEGIN -->\n.+\n- .+\n<!-- SECTION:DESCRIPTION:END -->\n$/s);
  }
  expect(parse(await readFile(join(demo.backlog, 'config.yml'), 'utf8'))).toMatchObject({ task_prefix: 'task' });
});

test('an empty folder is used; beside an earlier demo another one is made', async () => {
  const base = await tempFolder();
  const wanted = join(base, 'demo');
  await mkdir(wanted);

  const first = await make(wanted);
  const kept = await readFile(first.workflowPath, 'utf8');
  await writeFile(first.workflowPath, `${kept}\nmine`);
  const demos = [first, await make(wanted), await make(wanted)];

  expect(demos.map(({ dir }) => basename(dir))).toEqual(['demo', 'demo-2', 'demo-3']);
  expect(await readFile(first.workflowPath, 'utf8')).toBe(`${kept}\nmine`);
});

test('in a folder that is not empty nothing is created', async () => {
  const base = await tempFolder();
  await writeFile(join(base, '.gitignore'), 'dist\n');
  await writeFile(join(base, 'file'), 'mine');

  await expect(make(base)).rejects.toThrow(`${base} is not empty and not a demo: nothing was created`);
  await expect(make(join(base, 'file'))).rejects.toThrow('a file is in the way');
  await expect(make(join(base, 'file', 'below'))).rejects.toThrow('a file is in the way');
  expect((await readdir(base)).sort()).toEqual(['.gitignore', 'file']);
});

test('an unwritable folder is named, with the remedy', async () => {
  const base = await tempFolder();
  const locked = join(base, 'locked');
  await mkdir(locked, { mode: 0o555 });

  for (const wanted of [join(locked, 'demo'), locked]) {
    const made = asOrdinaryUser(base, () => make(wanted));

    await expect(made).rejects.toThrow(
      `${wanted} cannot be created: you have no permission to write there. Name another folder.`,
    );
  }
});

test('without git the message names git', async () => {
  const base = await tempFolder();

  await expect(makeDemo(join(base, 'demo'), { agentCommand: 'x', env: { PATH: base } })).rejects.toThrow('install git');
});

test('a path with quotes, spaces and dollars reaches git unchanged', async () => {
  const demo = await make(join(await tempFolder(), `it's a "$HOME" demo`));

  const { workflow } = await loadWorkflow(demo.workflowPath, { env: {}, homeDir: '/', trackerKinds: LOCAL });
  const script = (workflow.config.hooks.scripts.after_create ?? '').replace(/bash .*/, 'printf %s "$BATON_REPO_URL"');
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { env: { BATON_WORKFLOW_DIR: demo.dir } });

  expect(stdout).toBe(demo.repository);
});

test('the command of the demo agent names this node and this installation, and takes the pace along', async () => {
  const words = async (command: string) =>
    (await promisify(execFile)('bash', ['-c', `set -- ${command}; printf '%s\\n' "$@"`])).stdout.trim().split('\n');
  const agent = [process.execPath, expect.stringMatching(/\/src\/demo\/agent\.js$/)];

  expect(await words(demoAgentCommand({}))).toEqual(agent);
  expect(await words(demoAgentCommand({ BATON_DEMO_PACE_MS: '0' }))).toEqual(['BATON_DEMO_PACE_MS=0', ...agent]);
});
