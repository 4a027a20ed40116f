import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { makeDemo } from '../../src/cli/make-demo.js';
import { demoAgentCommand } from '../../src/demo/demo-agent-command.js';
import { loadWorkflow } from '../../src/workflow/load-workflow.js';
import { compilePrompt } from '../../templates/render-prompt.js';
import { tempFolder } from '../runner/workspace/temp-folder.js';
import { asOrdinaryUser } from '../support/as-ordinary-user.js';
import { issue } from '../support/builders.js';

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

test('the repository has one commit on main, with nothing of the user in it', async () => {
  const demo = await make(join(await tempFolder(), 'demo'));

  expect(await git(demo.repository, 'symbolic-ref', 'HEAD')).toBe('refs/heads/main');
  expect(await git(demo.repository, 'log', '--all', '--format=%an <%ae> %s')).toBe(
    'Baton demo <baton@localhost> Begin',
  );
  expect(await git(demo.repository, 'show', 'main:README.md')).toContain('A small project');
  expect(await git(demo.repository, 'fsck', '--strict')).toBe('');
});

test("the user's own git settings have no say", async () => {
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

test('in a folder with anything else in it nothing is made', async () => {
  const base = await tempFolder();
  await writeFile(join(base, '.gitignore'), 'dist\n');
  await writeFile(join(base, 'file'), 'mine');

  await expect(make(base)).rejects.toThrow(`${base} is not empty and not a demo: nothing was made`);
  await expect(make(join(base, 'file'))).rejects.toThrow('a file is in the way');
  await expect(make(join(base, 'file', 'below'))).rejects.toThrow('a file is in the way');
  expect((await readdir(base)).sort()).toEqual(['.gitignore', 'file']);
});

test('a folder that cannot be written is named, with what to do', async () => {
  const base = await tempFolder();
  const locked = join(base, 'locked');
  await mkdir(locked, { mode: 0o555 });

  for (const wanted of [join(locked, 'demo'), locked]) {
    const made = asOrdinaryUser(base, () => make(wanted));

    await expect(made).rejects.toThrow(`${wanted} cannot be made: you may not write there. Name another folder.`);
  }
});

test('without git the message says so', async () => {
  const base = await tempFolder();

  await expect(makeDemo(join(base, 'demo'), { agentCommand: 'x', env: { PATH: base } })).rejects.toThrow('install git');
});

test('a path with quotes, spaces and dollars reaches git as it is', async () => {
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
