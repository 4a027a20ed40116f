import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { worktreeRepository } from '../../runner/executors/codex/agent-program.js';
import { closedPaths, privateEntries, toolchainLogins } from '../../runner/executors/codex/closed-paths.js';
import { permissionProfile, readablePaths } from '../../runner/executors/codex/permission-profile.js';
import { ensureSocketFolder } from '../../runner/executors/codex/socket-folder.js';
import type { CodexConfig } from '../../src/domain/config.js';
import { agent, failureOf, type RunOptions, run, tempFolder } from '../runner/executors/codex/harness.js';
import { otherAccount } from '../support/other-account.js';

// What Baton asks of Codex, and what it does when Codex grants something else. test/real/security.test.ts checks with the real
// Codex that this keeps an agent from secrets.

const grants = (reply: object, own: object = {}, skills: object = { data: [] }) =>
  agent('grants', JSON.stringify(reply), JSON.stringify(own), JSON.stringify(skills));

interface Thread {
  readonly config: {
    readonly features: object;
    readonly permissions: { readonly [profile: string]: Profile };
    readonly mcp_servers: object;
    readonly shell_environment_policy: { readonly exclude: readonly string[] };
  };
}

interface Profile {
  readonly filesystem: { readonly [path: string]: string };
}

async function sentBy(options: Partial<RunOptions> = {}) {
  const done = await run({ command: grants({}), ...options });
  const find = (method: string): unknown => done.received().find((message) => message.method === method)?.params;
  return { ...done, thread: (find('thread/start') ?? find('thread/resume')) as Thread, turn: find('turn/start') };
}

const codex = (settings: Partial<CodexConfig>) => ({ config: { codex: settings } });

describe('the sandbox that Codex reports', () => {
  test.each<[string, object, Partial<CodexConfig>]>([
    ['full access', { sandbox: { type: 'dangerFullAccess' } }, {}],
    ['a sandbox of someone else', { sandbox: { type: 'externalSandbox', networkAccess: 'restricted' } }, {}],
    ['network access', { sandbox: { type: 'workspaceWrite', networkAccess: true } }, {}],
    ['another profile', { activePermissionProfile: { id: ':workspace', extends: null } }, {}],
    [
      'full access instead of workspace-write',
      { sandbox: { type: 'dangerFullAccess' } },
      { threadSandbox: 'workspace-write' },
    ],
    ['workspace-write instead of read-only', { sandbox: { type: 'workspaceWrite' } }, { threadSandbox: 'read-only' }],
    ['fewer approvals', { approvalPolicy: 'never' }, { approvalPolicy: 'on-request' }],
    ['approval by a model', { approvalsReviewer: 'auto_review' }, { approvalPolicy: 'on-request' }],
  ])('SEC-33 a run whose agent has %s fails before its first turn', async (_, reply, settings) => {
    const { outcome, turn } = await sentBy({ command: grants(reply), ...codex(settings) });

    expect(failureOf(outcome).code).toBe('agent_sandbox_mismatch');
    expect(turn).toBeUndefined();
  });

  test('SEC-33 the sandbox of a resumed thread is compared, too', async () => {
    const { outcome, turn } = await sentBy({
      command: grants({ sandbox: { type: 'dangerFullAccess' } }),
      step: { resume: { threadId: 'thread-1', answer: null } },
    });

    expect(failureOf(outcome).code).toBe('agent_sandbox_mismatch');
    expect(turn).toBeUndefined();
  });

  test('SEC-31 a Codex that does not know profiles fails the run, and the message names the setting that restores the old behaviour', async () => {
    const old = { activePermissionProfile: null };

    const refused = await sentBy({ command: grants(old) });
    const allowed = await sentBy({ command: grants(old), ...codex({ threadSandbox: 'workspace-write' }) });

    expect(failureOf(refused.outcome)).toMatchObject({
      code: 'agent_profile_unsupported',
      message: expect.stringContaining('codex.thread_sandbox: workspace-write'),
    });
    expect(refused.turn).toBeUndefined();
    expect(allowed.outcome.state).toBe('success');
  });

  test.each<[string, object, Partial<CodexConfig>]>([
    ['a read-only sandbox', { sandbox: { type: 'readOnly', networkAccess: false } }, {}],
    ['more approvals', { approvalPolicy: 'untrusted' }, {}],
    ['read-only instead of workspace-write', { sandbox: { type: 'readOnly' } }, { threadSandbox: 'workspace-write' }],
  ])('a tighter answer is fine: %s', async (_, reply, settings) => {
    const { outcome } = await sentBy({ command: grants(reply), ...codex(settings) });

    expect(outcome.state).toBe('success');
  });

  test('another agent that reports no sandbox works, with a warning', async () => {
    const { outcome, events } = await sentBy({ command: grants({ sandbox: null, activePermissionProfile: null }) });

    expect(outcome.state).toBe('success');
    expect(events('other_message')).toMatchObject([{ data: { warning: expect.stringContaining('no sandbox') } }]);
  });
});

describe('what Codex is asked for', () => {
  test('SEC-31 a profile, and no sandbox or policy beside it, which would discard it', async () => {
    const { thread, turn, workspace } = await sentBy();

    expect(thread).toMatchObject({ permissions: 'baton-workspace', approvalsReviewer: 'user' });
    expect(thread).not.toHaveProperty('sandbox');
    expect(turn).not.toHaveProperty('sandboxPolicy');
    expect(thread.config.permissions['baton-workspace']).toMatchObject({
      network: { enabled: false },
      filesystem: { ':minimal': 'read', [workspace]: 'write', [join(workspace, '.git')]: 'read' },
    });
  });

  test('a sandbox of the workflow is passed on unchanged, without a profile', async () => {
    const { thread, turn } = await sentBy(codex({ threadSandbox: 'danger-full-access' }));

    expect(thread).toMatchObject({ sandbox: 'danger-full-access', config: { allow_login_shell: false } });
    expect(thread).not.toHaveProperty('permissions');
    expect(thread.config).not.toHaveProperty('permissions');
    expect(turn).not.toHaveProperty('sandboxPolicy');
  });

  test('SEC-33 the workspace is untrusted, and nothing that the user did not name starts', async () => {
    const own = { mcp_servers: { mine: {}, wanted: {} } };

    const { thread, workspace } = await sentBy({ command: grants({}, own), ...codex({ mcpServers: ['wanted'] }) });

    expect(thread.config).toMatchObject({
      projects: { [workspace]: { trust_level: 'untrusted' } },
      project_root_markers: [],
      web_search: 'disabled',
      features: { goals: false, apps: false, plugins: false, memories: false, skill_mcp_dependency_install: false },
      mcp_servers: { mine: { enabled: false } },
    });
    expect(thread.config.mcp_servers).not.toHaveProperty('wanted');
  });

  test('SEC-31 tools of Codex that read or write outside of its sandbox are off', async () => {
    const { thread } = await sentBy();

    expect(thread.config.features).toMatchObject({ multi_agent: false, image_generation: false });
  });

  test('SEC-33 the skills of the repository are off, those of the user are not, and a faulty skill does not matter', async () => {
    const skills = [
      { scope: 'repo', path: '/w/.agents/skills/a/SKILL.md' },
      { scope: 'user', path: '/home/u/.agents/skills/b/SKILL.md' },
    ];
    const list = { data: [{ skills, errors: [{ path: '/w/.agents/skills/c/SKILL.md', message: 'no front matter' }] }] };

    const { thread, received, workspace } = await sentBy({ command: grants({}, {}, list) });

    expect(thread.config).toMatchObject({
      skills: { config: [{ path: '/w/.agents/skills/a/SKILL.md', enabled: false }] },
    });
    const asked = received().find(({ method }) => method === 'skills/list');
    expect(asked?.params).toEqual({ cwds: [workspace], forceReload: true });
  });

  test('SEC-33 a Codex that cannot list the skills of the workspace fails the run', async () => {
    const workspace = realpathSync(tempFolder());
    const list = { data: [{ skills: [], errors: [{ path: workspace, message: 'failed to reload config' }] }] };

    const { outcome, thread } = await sentBy({ workspace, command: grants({}, {}, list) });

    expect(failureOf(outcome)).toMatchObject({ code: 'response_error', message: expect.stringContaining('skills') });
    expect(thread).toBeUndefined();
  });

  test('SEC-33 places that links of the repository name as skills are closed, and the folders around them cannot be moved', async () => {
    const workspace = realpathSync(tempFolder());
    for (const name of ['.agents/skills', '.agents/other/x', 'docs/a/b/c/d', 'tools']) {
      mkdirSync(join(workspace, name), { recursive: true });
    }
    symlinkSync('../../docs/a/b', join(workspace, '.agents/skills/one'));
    symlinkSync('../../../tools', join(workspace, 'docs/a/b/two'));
    symlinkSync('../../docs/a/b/c/d', join(workspace, '.agents/skills/three'));
    symlinkSync('../other/x', join(workspace, '.agents/skills/four'));
    symlinkSync('..', join(workspace, 'docs/unrelated'));

    const { thread } = await sentBy({ workspace });

    const { filesystem } = thread.config.permissions['baton-workspace'] as Profile;
    const inWorkspace = Object.entries(filesystem).filter(([path]) => path.startsWith(`${workspace}/`));
    expect(Object.fromEntries(inWorkspace.map(([path, mode]) => [path.slice(workspace.length + 1), mode]))).toEqual({
      ...{ '.git': 'read', '.codex': 'read', '.agents': 'read', tmp: 'write' },
      ...{ docs: 'write', 'docs/a': 'write', 'docs/a/b': 'read', tools: 'read' },
      ...{ 'docs/a/b/c/d': 'read', '.agents/other/x': 'read' },
    });
  });

  test('the web search of the user stays on with codex.web_search, and an unknown MCP server is reported', async () => {
    const { thread, events } = await sentBy(codex({ webSearch: true, mcpServers: ['missing'] }));

    expect(thread.config).not.toHaveProperty('web_search');
    expect(events('other_message')).toMatchObject([{ data: { missing: ['missing'] } }]);
  });

  test('SEC-31 variables with keys are kept from commands, those of the provider included', async () => {
    const own = { model_providers: { mine: { env_key: 'MY_LOGIN' } } };
    const command = `export SOME_TOKEN=x WANTED_TOKEN=y; ${grants({}, own)}`;

    const { thread } = await sentBy({ command, config: { runtime: { envAllow: ['WANTED_TOKEN'] } } });

    const { exclude } = thread.config.shell_environment_policy;
    expect(exclude).toEqual(expect.arrayContaining(['OPENAI_*', 'CODEX_*', 'AZURE_OPENAI_*', 'MY_LOGIN']));
    // The environment of a process can be read on Linux only.
    if (process.platform === 'linux') expect(exclude).toContain('SOME_TOKEN');
    expect(exclude).not.toContain('WANTED_TOKEN');
  });

  test.runIf(process.platform === 'linux').each([
    ['the profile, which has no network', {}, ['HTTPS_PROXY', 'DATABASE_URL']],
    ['a sandbox of the workflow, whose commands may need a proxy', { threadSandbox: 'workspace-write' }, []],
  ])('SEC-31 addresses with a password are kept from commands under %s', async (_, settings, expected) => {
    const variables =
      'HTTPS_PROXY=http://me:canary@proxy:1 DATABASE_URL=postgres://me:canary@db/x HTTP_PROXY=http://proxy:1 WANTED=http://me:canary@x';
    const command = `export ${variables}; ${grants({})}`;

    const { thread } = await sentBy({
      command,
      config: { codex: settings as Partial<CodexConfig>, runtime: { envAllow: ['WANTED'] } },
    });

    const names = ['HTTPS_PROXY', 'DATABASE_URL', 'HTTP_PROXY', 'WANTED'];
    expect(names.filter((name) => thread.config.shell_environment_policy.exclude.includes(name))).toEqual(expected);
  });
});

describe('the folder in /tmp that Codex needs', () => {
  const uid = process.getuid?.() ?? 0;
  const pathIn = (folder: string) => join(folder, `codex-daemon-${uid}`);

  test.each<[string, (path: string) => void]>([
    ['is made', () => {}],
    ['gets the mode that Codex wants', (path) => mkdirSync(path, { mode: 0o755 })],
  ])('it %s', async (_, prepare) => {
    const folder = realpathSync(tempFolder());
    prepare(pathIn(folder));

    await ensureSocketFolder(folder);

    expect(statSync(pathIn(folder)).mode & 0o777).toBe(0o700);
  });

  test.each<[string, (path: string) => void]>([
    ['a link', (path) => symlinkSync('/', path)],
    ['a file', (path) => writeFileSync(path, '')],
  ])('SEC-31 %s in its place is agent_socket_folder', async (_, prepare) => {
    const folder = realpathSync(tempFolder());
    prepare(pathIn(folder));

    await expect(ensureSocketFolder(folder)).rejects.toMatchObject({
      code: 'agent_socket_folder',
      message: expect.stringContaining(pathIn(folder)),
    });
  });

  test.skipIf(uid !== 0)('SEC-31 so is a folder of another account', async () => {
    const folder = realpathSync(tempFolder());
    mkdirSync(pathIn(folder), { mode: 0o700 });
    chownSync(pathIn(folder), 12_345, 12_345);

    await expect(ensureSocketFolder(folder)).rejects.toMatchObject({ code: 'agent_socket_folder' });
  });
});

test('SEC-31 a run fails before its first turn when the folder belongs to another account', async () => {
  otherAccount();

  const { outcome, thread } = await sentBy();

  expect(failureOf(outcome).code).toBe('agent_socket_folder');
  expect(thread).toBeUndefined();
});

describe('what commands may read', () => {
  const HOME = '/home/u';
  const folders = { programs: [], workspace: '/ws/A', tmpDir: '/tmp/run', linked: [], closed: [] };
  const facts = { ...folders, exists: () => true, realPath: (path: string) => path };
  const pathsWith = (env: { [name: string]: string }, readable: string[] = []) =>
    readablePaths({ env: { HOME, ...env }, programs: [], readable });

  test('SEC-31 never the home folder, a folder above it, or a folder of keys, whatever variables say', () => {
    const paths = pathsWith({
      PATH: `${HOME}:/:/home:${HOME}/.ssh/bin:${HOME}/bin:relative`,
      ...{ GOPATH: HOME, JAVA_HOME: '/', NVM_DIR: `${HOME}/.ssh`, VIRTUAL_ENV: `${HOME}/x/..`, BUN_INSTALL: '..' },
    });

    for (const path of ['/', '/home', HOME, `${HOME}/.ssh`, `${HOME}/.ssh/bin`, `${HOME}/lib`]) {
      expect(paths).not.toContain(path);
    }
    expect(paths).toContain(`${HOME}/bin`);
    expect(paths.every((path) => path.startsWith('/'))).toBe(true);
  });

  test('toolchains are found by PATH and by their variables', () => {
    const paths = pathsWith({
      PATH: `/usr/bin:${HOME}/node-22/bin:${HOME}/.local/bin`,
      ...{ CARGO_HOME: '/data/cargo', GOPATH: '/data/go:/data/go2' },
    });

    for (const path of ['node-22/bin', 'node-22/lib', '.local/bin', '.nvm', '.pyenv']) {
      expect(paths).toContain(join(HOME, path));
    }
    for (const path of ['/data/cargo/bin', '/data/cargo/registry', '/data/go/pkg', '/data/go2/bin']) {
      expect(paths).toContain(path);
    }
    expect(paths).not.toContain('/data/cargo');
    expect(paths).not.toContain(join(HOME, '.local/share'));
  });

  test('SEC-31 keys and the other workspaces stay closed inside folders that are readable', () => {
    const filesOf = (readable: string[]) =>
      (permissionProfile({ ...facts, env: { HOME }, readable }) as unknown as Profile).filesystem;

    const filesystem = filesOf([HOME, '/ws', `${HOME}/.aws`]);

    expect(filesystem).toMatchObject({
      [HOME]: 'read',
      [`${HOME}/.ssh`]: 'deny',
      '/etc/shadow': 'deny',
      '/ws/A': 'write',
    });
    // These were named exactly.
    expect(filesystem).toMatchObject({ [`${HOME}/.aws`]: 'read', '/ws': 'read' });
    expect(filesOf([])['/ws']).toBe('deny');
  });

  test('SEC-31 keys stay closed under the names that they have behind a readable link', () => {
    const realPath = (path: string) => path.replace(/^\/repository\/shared/, HOME);
    const readable = ['/repository/shared', '/repository/shared/.aws'];

    const profile = permissionProfile({ ...facts, realPath, env: { HOME }, readable }) as unknown as Profile;

    expect(profile.filesystem).toMatchObject({
      '/repository/shared': 'read',
      '/repository/shared/.ssh': 'deny',
      '/repository/shared/.codex/auth.json': 'deny',
      // This one was named exactly.
      '/repository/shared/.aws': 'read',
    });
  });

  test('SEC-31 of a link in a readable folder its target is closed or opened, which the sandbox of Codex can do', () => {
    const targets: { [link: string]: string } = {
      [`${HOME}/.aws`]: `${HOME}/dotfiles/aws`,
      [`${HOME}/.npmrc`]: '/nix/store/npmrc',
      [`${HOME}/.kube`]: `${HOME}/dotfiles/kube`,
      [`${HOME}/.docker`]: `${HOME}/dotfiles/docker`,
      [`${HOME}/.pyenv`]: '/data/pyenv',
    };
    const realPath = (path: string) => targets[path] ?? path;
    const readable = [HOME, `${HOME}/dotfiles/kube`, `${HOME}/.docker`];

    const profile = permissionProfile({ ...facts, realPath, env: { HOME }, readable }) as unknown as Profile;
    const { filesystem } = profile;

    expect(filesystem).toMatchObject({ [`${HOME}/dotfiles/aws`]: 'deny', '/nix/store/npmrc': 'deny' });
    for (const link of Object.keys(targets)) expect(filesystem).not.toHaveProperty([link]);
    expect(filesystem).toMatchObject({ '/data/pyenv': 'read' });
    // These were named exactly.
    expect(filesystem).toMatchObject({ [`${HOME}/dotfiles/kube`]: 'read', [`${HOME}/dotfiles/docker`]: 'read' });
  });

  test('SEC-31 what only root or a group may read in /etc is closed, unless codex.readable names it', async () => {
    const dir = realpathSync(tempFolder());
    const place = (name: string, mode: number) => {
      mkdirSync(join(dir, name, '..'), { recursive: true });
      writeFileSync(join(dir, name), 'x');
      chmodSync(join(dir, name), mode);
    };
    for (const name of ['open', 'folder/open', 'private/open']) place(name, 0o644);
    for (const name of ['key', 'folder/key']) place(name, 0o640);
    chmodSync(join(dir, 'private'), 0o710);
    symlinkSync('key', join(dir, 'link'));

    const closed = await privateEntries(dir);
    const { filesystem } = permissionProfile({
      ...facts,
      ...{ env: { HOME }, closed, readable: [join(dir, 'key')] },
    }) as unknown as Profile;

    expect([...closed].sort()).toEqual(['folder/key', 'key', 'private'].map((name) => join(dir, name)));
    expect(filesystem).toMatchObject({ [join(dir, 'private')]: 'deny', [join(dir, 'key')]: 'read' });
  });

  test('SEC-31 closed paths are looked up again after a minute, and for another home', async () => {
    const home = realpathSync(tempFolder());
    const login = join(home, '.npm-global/etc/npmrc');
    mkdirSync(dirname(login), { recursive: true });

    const before = await closedPaths({ HOME: home }, 0);
    writeFileSync(login, '_authToken=x');

    expect(before).not.toContain(login);
    expect(await closedPaths({ HOME: home }, 59_999)).not.toContain(login);
    expect(await closedPaths({ HOME: home }, 60_000)).toContain(login);
    expect(await closedPaths({ HOME: tempFolder() }, 60_001)).not.toContain(login);
    expect(await closedPaths({ HOME: home }, 60_002)).toContain(login);
  });

  test('SEC-31 logins inside of readable toolchains are closed, and their other settings are not', async () => {
    const home = realpathSync(tempFolder());
    const put = (path: string, text: string) => {
      mkdirSync(join(home, path, '..'), { recursive: true });
      writeFileSync(join(home, path), text);
      return join(home, path);
    };
    const logins = [
      put('.nvm/versions/node/v22/etc/npmrc', '//registry.example.org/:_authToken=x\n'),
      put('.pyenv/versions/3.13/pip.conf', '[global]\nindex-url = https://me:x@pypi.example.org/simple\n'),
      put('miniforge3/.condarc', 'channels:\n  - https://conda.example.org/t/x/main\n'),
      put('sdk/candidates/maven/current/conf/settings.xml', '<server><password>x</password></server>\n'),
    ];
    put('.npm-global/etc/npmrc', '# token\nfund=false\n');
    put('anaconda3/.condarc', 'channels: [conda-forge]\n');
    put('.sdkman/candidates/maven/3/conf/settings.xml', '<servers>\n<!-- <password>x</password>\n--></servers>\n');
    const credentials = put('.local/share/uv/credentials/credentials.toml', 'x');

    const closed = await toolchainLogins({ HOME: home, SDKMAN_DIR: join(home, 'sdk') });
    const { filesystem } = permissionProfile({
      ...facts,
      ...{ env: { HOME: home, SDKMAN_DIR: join(home, 'sdk') }, closed, readable: [], exists: existsSync },
    }) as unknown as Profile;

    expect([...closed].sort()).toEqual([...logins].sort());
    for (const path of [...logins, dirname(credentials)]) expect(filesystem[path]).toBe('deny');
  });

  test('SEC-31 the repository of a worktree can be read, and a .git file of the agent opens no other repository', async () => {
    const dir = realpathSync(tempFolder());
    const git = (...args: string[]) => execFileSync('git', ['-C', join(dir, 'repository'), ...args], { stdio: 'pipe' });
    for (const name of ['repository', 'other']) execFileSync('git', ['init', '-q', join(dir, name)]);
    git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', 'first');
    git('worktree', 'add', '-q', join(dir, 'worktree'));
    mkdirSync(join(dir, 'forged'));
    writeFileSync(join(dir, 'forged', '.git'), `gitdir: ${join(dir, 'repository/.git/worktrees/worktree')}\n`);
    // Folders that the agent can write, so that they name its workspace: the folder of all workspaces and the one above would be open.
    const planted = await Promise.all(
      ['.', 'inner', 'link/inner'].map(async (gitDir, index) => {
        const workspace = join(dir, 'root', `planted-${index}`);
        mkdirSync(join(workspace, 'inner'), { recursive: true });
        symlinkSync(workspace, join(workspace, 'link'));
        writeFileSync(join(workspace, '.git'), `gitdir: ${gitDir}\n`);
        writeFileSync(join(workspace, gitDir, 'gitdir'), join(workspace, '.git'));
        return (await sentBy({ workspace })).thread.config.permissions['baton-workspace']?.filesystem;
      }),
    );

    const honest = await sentBy({ workspace: join(dir, 'worktree') });
    const forged = await sentBy({ workspace: join(dir, 'forged') });

    const repository = join(dir, 'repository', '.git');
    expect(existsSync(repository)).toBe(true);
    expect(honest.thread.config.permissions['baton-workspace']?.filesystem[repository]).toBe('read');
    expect(forged.thread.config.permissions['baton-workspace']?.filesystem).not.toHaveProperty(repository);
    for (const filesystem of planted) {
      expect(filesystem).toMatchObject({ [join(dir, 'root')]: 'deny' });
      expect(filesystem).not.toHaveProperty(dir);
    }
  });

  test('SEC-31 a pipe in place of .git does not block the daemon', async () => {
    const workspace = realpathSync(tempFolder());
    execFileSync('mkfifo', [join(workspace, '.git')]);

    expect(await worktreeRepository(workspace)).toBeNull();
  });
});
