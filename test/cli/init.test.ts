import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { check } from '../../src/cli/check.js';
import { type InitOptions, init } from '../../src/cli/init.js';
import { createTrackerRegistry } from '../../src/tracker/registry.js';
import { asOrdinaryUser } from '../support/as-ordinary-user.js';
import { DIST } from '../support/dist.js';
import { MemoryTracker } from '../support/memory-tracker.js';
import { load } from '../workflow/workflow-fixture.js';
import { git, type World, world } from './cli-fixture.js';

const REGISTRY = createTrackerRegistry([
  {
    kind: 'local',
    defaults: { activeStates: ['To Do', 'In Progress'], terminalStates: ['Done'] },
    create: () => new MemoryTracker(),
  },
]);

const HOOKS = join(DIST, 'hooks/scripts');

const start = (io: World, options: Partial<InitOptions> = {}) =>
  init({ dir: '.', yes: false, command: 'baton', ...options }, io, REGISTRY);

const settingsOf = async (io: World) => (await load(join(io.dir, 'WORKFLOW.md'))).workflow.config;

function repository(io: World, remote?: string): World {
  git(io.dir, 'init', '--quiet');
  git(io.dir, 'commit', '--quiet', '--allow-empty', '--message', 'first');
  if (remote !== undefined) git(io.dir, 'remote', 'add', 'origin', remote);
  return io;
}

describe('the written files', () => {
  test('in a repository with a remote: its address, a label gate, two agents, a first issue, and the next commands', async () => {
    const io = repository(world(), 'git@example.org:team/app.git');
    io.program('codex', '#!/bin/sh\n');

    const code = await start(io, { yes: true });

    const config = await settingsOf(io);
    expect({ code, err: io.err() }).toEqual({ code: 0, err: '' });
    expect(config.tracker).toMatchObject({ kind: 'local', requiredLabels: ['baton'] });
    expect(config.agent.maxConcurrentAgents).toBe(2);
    expect(config.hooks.scripts.after_create).toBe(
      'export BATON_REPO_URL=git@example.org:team/app.git\nbash "$BATON_HOOKS/clone-or-update.sh"\n',
    );
    expect(config.hooks.scripts.after_run).toContain('BATON_REPO_URL=git@example.org:team/app.git');
    expect(io.out()).toMatch(/Next:\n {2}baton check\n {2}baton run --issue TASK-1\n$/);
    expect(readdirSync(join(io.dir, 'backlog/tasks'))).toEqual(['task-1 - Say-hello.md']);
    const task = readFileSync(join(io.dir, 'backlog/tasks/task-1 - Say-hello.md'), 'utf8');
    expect(parse(task.split('---\n')[1] ?? '')).toMatchObject({ id: 'TASK-1', status: 'To Do', labels: ['baton'] });
    expect(parse(readFileSync(join(io.dir, 'backlog/config.yml'), 'utf8'))).toMatchObject({ project_name: 'project' });
  });

  test.each([false, true])('every gate explains how to open it (steps: %s)', async (steps) => {
    const io = repository(world());
    io.program('codex', '#!/bin/sh\n');
    await start(io, { yes: true, steps });

    const text = readFileSync(join(io.dir, 'WORKFLOW.md'), 'utf8');
    const [, approvals = ''] = /((?: {2}#.*\n)+) {2}on_approval_request: decline/.exec(text) ?? [];
    for (const word of ['decline', 'ask', 'accept', 'baton answer']) expect(approvals).toContain(`\`${word}\``);
    expect(text).toMatch(/# .*parked.*`baton retry [^`]*`.*\n {2}max_tokens_per_issue:/);
  });

  test('it passes the check', async () => {
    const io = repository(world());
    io.program('codex', '#!/bin/sh\necho codex-cli 1\n');
    await start(io, { yes: true, baseBranch: 'main' });

    const code = await check({ workflowPath: 'WORKFLOW.md', json: false, schema: false }, io, REGISTRY);

    expect(code, io.out()).toBe(0);
    expect(io.out()).not.toMatch(/uses \$|unknown key/);
  });

  test('its hooks clone and push for real, also from a folder with an odd name', async () => {
    const io = world();
    const dir = join(io.dir, "it's $HOME {{ x }}");
    mkdirSync(dir);
    repository({ ...io, dir });
    await init({ dir, yes: true, command: 'baton' }, io, REGISTRY);
    const { scripts } = (await load(join(dir, 'WORKFLOW.md'))).workflow.config.hooks;
    const workspace = join(io.homeDir, 'ws');
    mkdirSync(workspace);
    const variables = { BATON_HOOKS: HOOKS, BATON_WORKSPACE: workspace, BATON_ISSUE_IDENTIFIER: 'TASK-1' };
    const run = (script: string | null) =>
      execFileSync('bash', ['-c', script ?? ''], { cwd: workspace, env: { ...io.env, ...variables }, stdio: 'pipe' });

    run(scripts.after_create);
    writeFileSync(join(workspace, 'HELLO.md'), 'hello');
    run(scripts.after_run);

    expect(git(dir, 'show', 'baton/TASK-1:HELLO.md')).toBe('hello');
  });

  test('a login in the address of the remote is removed with a remark, and never shown', async () => {
    const io = repository(world(), 'https://user:sekret-token@example.org/team/app.git');

    await start(io, { yes: true });

    const text = readFileSync(join(io.dir, 'WORKFLOW.md'), 'utf8');
    expect(text).toContain('https://example.org/team/app.git');
    expect(io.err()).toContain('login');
    expect(text + io.out() + io.err()).not.toContain('sekret');
  });

  test.each([
    ['with a port that no address has', 'https://me:canary-5ecret@example.org:99999999/a.git'],
    ['behind a blank', ' https://me:canary-5ecret@example.org/a.git'],
  ])('a login in an odd address is left out, too: %s', async (_, url) => {
    const io = repository(world(), url);

    expect(await start(io, { yes: true })).toBe(0);
    expect(io.out() + io.err() + readFileSync(join(io.dir, 'WORKFLOW.md'), 'utf8')).not.toContain('canary');
  });

  test.each([
    ['a line break', 'https://example.org/a\nb'],
    ['a terminal code', 'https://example.org/\u001b[31ma'],
    ['text that runs backwards', 'https://example.org/\u202ea'],
  ])('an address with %s is refused, and never shown unchanged', async (_, url) => {
    const io = repository(world({ isTTY: true }), url);
    io.stdin.end('\n\n\n\n\n');

    expect(await start(io)).toBe(2);
    expect(io.out() + io.err()).not.toContain(url);
    expect(io.err()).toContain('control characters');
  });

  test('a folder with a line break in its name is refused, because scripts contain it', async () => {
    const io = world();
    const dir = join(io.dir, 'a\nb');
    mkdirSync(dir);

    expect(await start({ ...io, cwd: dir }, { yes: true })).toBe(2);
    expect(readdirSync(dir)).toEqual([]);
    expect(io.err()).toContain('a\\nb contains control characters');
  });

  test('without a remote agents clone the folder itself, by its absolute path', async () => {
    const io = repository(world());

    await start(io, { yes: true });

    expect((await settingsOf(io)).hooks.scripts.after_create).toContain(`BATON_REPO_URL=${io.dir}\n`);
    expect(io.err()).toContain('no remote');
  });

  test('a remote that is a relative path becomes absolute', async () => {
    const io = repository(world(), '../other.git');

    await start(io, { yes: true });

    expect((await settingsOf(io)).hooks.scripts.after_create).toContain(`=${join(io.dir, '../other.git')}\n`);
  });

  test('a repository without a commit is reported', async () => {
    const io = world();
    git(io.dir, 'init', '--quiet');

    expect(await start(io, { yes: true })).toBe(0);
    expect(io.err()).toContain('no commits yet');
  });

  test('outside of a repository the results are kept in a folder', async () => {
    const io = world();

    const code = await start(io, { yes: true });

    const { scripts } = (await settingsOf(io)).hooks;
    expect(code).toBe(0);
    expect(io.err()).toContain('not a git repository');
    expect(scripts.after_create).toBeNull();
    expect(scripts.after_run).toContain(join(io.dir, 'baton-results'));
  });

  test('a refusal of git is printed', async () => {
    const io = repository(world());
    writeFileSync(join(io.dir, '.git/config'), '[core]\n  bare = perhaps\n');

    expect(await start(io, { yes: true })).toBe(0);
    expect(io.err()).toMatch(/baton: fatal: bad boolean/);
  });

  test('a missing codex is reported with the command to install it', async () => {
    const io = world({ env: { PATH: '/usr/bin:/bin' } });

    await start(io, { yes: true, agent: 'codex' });

    expect(io.err()).toContain('npm install -g @openai/codex');
  });

  test('odd names are escaped in YAML, shell and Liquid', async () => {
    const io = world();
    const label = 'yes: [#x] "\'{{ a }}';
    const url = `/repos/a b'$(touch x);{{ y }}.git`;

    const code = await start(io, { yes: true, label, repoUrl: url, baseBranch: '$(x) y' });

    const config = await settingsOf(io);
    expect(code).toBe(0);
    expect(config.tracker.requiredLabels).toEqual([label]);
    expect(config.hooks.scripts.after_create?.split('\n').slice(0, 2)).toEqual([
      `export BATON_REPO_URL='/repos/a b'\\''$(touch x);{{ y }}.git'`,
      `export BATON_BASE_BRANCH='$(x) y'`,
    ]);
  });

  test('the demo agent can be chosen, and is proposed without codex', async () => {
    const io = world({ env: { PATH: '/usr/bin:/bin' } });

    await start(io, { yes: true, demoAgentCommand: "node '/x y/agent.js'" });

    expect((await settingsOf(io)).codex.command).toBe("node '/x y/agent.js'");
  });

  test('without codex the demo agent is proposed, with a remark that it does no real work', async () => {
    const io = repository(world());

    await start(io, { yes: true, demoAgentCommand: 'node agent.js' });

    expect(io.out()).toContain('The demo agent works on issues with the label "baton", two at a time.');
    expect(io.err()).toMatch(
      /codex is not found by a login shell.*demo agent.*no real work.*npm install -g @openai\/codex/,
    );
  });

  test('an existing backlog is not changed', async () => {
    const io = world();
    io.write('backlog/tasks/mine.md', 'mine');

    expect(await start(io, { yes: true })).toBe(0);
    expect(readdirSync(join(io.dir, 'backlog'))).toEqual(['tasks']);
    expect(io.out()).toMatch(/baton run --dry-run\n$/);
  });

  test('in another folder the next commands name it', async () => {
    const io = world();
    mkdirSync(join(io.dir, 'sub folder'));

    await start(io, { yes: true, dir: 'sub folder' });

    expect(io.out()).toContain("baton check 'sub folder/WORKFLOW.md'");
  });
});

describe('init overwrites nothing, and a failure leaves nothing behind', () => {
  test.each([
    ['a file', (path: string) => writeFileSync(path, 'mine')],
    ['a dangling symlink', (path: string) => symlinkSync('/nowhere/at/all', path)],
  ])('a WORKFLOW.md that is %s: exit 2, its name, nothing written', async (_, make) => {
    const io = world();
    make(join(io.dir, 'WORKFLOW.md'));

    expect(await start(io, { yes: true })).toBe(2);
    expect(io.err()).toMatch(/WORKFLOW\.md already exists/);
    expect(readdirSync(io.dir)).toEqual(['WORKFLOW.md']);
  });

  test('a read-only folder: exit 1 and the remedy', async () => {
    const io = world();
    const locked = join(io.dir, 'locked');
    mkdirSync(locked, { mode: 0o555 });

    const code = await asOrdinaryUser(join(io.dir, '..'), () =>
      start(io, { yes: true, dir: 'locked', repoUrl: 'none' }),
    );

    expect(code, io.err()).toBe(1);
    expect(io.err()).toContain('is not writable');
    expect(readdirSync(locked)).toEqual([]);
  });

  test('a missing folder: exit 2', async () => {
    const io = world();

    expect(await start(io, { yes: true, dir: 'nope' })).toBe(2);
    expect(io.err()).toContain('nope');
  });

  test.each<[string, Partial<InitOptions>]>([
    ['an unknown tracker', { tracker: 'locla' }],
    ['an unknown agent', { agent: 'codx' }],
    ['a blank label', { label: ' ' }],
    ['an address of two lines', { repoUrl: 'a\nb' }],
  ])('%s: exit 2, nothing written', async (_, options) => {
    const io = world();

    expect(await start(io, { yes: true, ...options })).toBe(2);
    expect(io.err()).toMatch(/^baton: /);
    expect(readdirSync(io.dir)).toEqual([]);
  });
});

describe('questions of init', () => {
  test('on a terminal every question has its default, and an empty answer takes it', async () => {
    const io = world({ isTTY: true });
    io.stdin.write('robot\n\n');

    const code = await start(io);

    const config = await settingsOf(io);
    expect(code).toBe(0);
    expect(io.out()).toMatch(/label .*\[baton\] .*repository .*\[none\] /s);
    expect(config.tracker.requiredLabels).toEqual(['robot']);
    expect(config.hooks.scripts.after_create).toBeNull();
  });

  test('values of flags are not asked', async () => {
    const io = world({ isTTY: true });

    expect(await start(io, { label: 'x', repoUrl: 'none' })).toBe(0);
    expect(io.out()).not.toContain('?');
  });

  test('an early end of the input leaves nothing behind', async () => {
    const io = world({ isTTY: true });
    io.stdin.end('robot\n');

    expect(await start(io)).toBe(1);
    expect(io.err()).toContain('nothing was written');
    expect(readdirSync(io.dir)).toEqual([]);
  });

  test('without a terminal the proposals are used', async () => {
    const io = world();

    expect(await start(io)).toBe(0);
    expect(io.out()).toMatch(/^There is no terminal for questions/);
  });
});
