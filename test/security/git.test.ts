import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, chmod, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { pipeGit, remoteEnvironment } from '../../runner/git/git.js';
import { changesInstallSettings, DEFAULT_RULES, ruleFor } from '../../runner/git/protected-paths.js';
import { gitSetup, type Variables } from '../hooks/git-setup.js';
import { DIST } from '../support/dist.js';

const execFileAsync = promisify(execFile);

/** Written in two parts, so that this file has no finding itself. */
const KEY = ['ghp', 'aB3dE6gH9'.repeat(4)].join('_');

/** A clone in the workspace AB-1, a program that leaves a trace when it runs, and a private repository elsewhere. */
async function attacked() {
  const setup = await gitSetup();
  const { base, git, commit, remote } = setup;
  const ws = await setup.workspace('AB-1');
  await setup.script('clone-or-update', ws);
  const trap = join(base, 'trap');
  const mark = join(base, 'pwned');
  await writeFile(trap, `#!/bin/sh\ntouch '${mark}'\ncat\n`);
  await chmod(trap, 0o755);
  const secret = join(base, 'private');
  await git(base, 'init', '--quiet', '--initial-branch=main', secret);
  await commit(secret, 'canary', 'CANARY-CONTENT');
  const push = (extra: Variables = {}) => setup.script('commit-and-push', ws, {}, extra);
  const update = (extra: Variables = {}) => setup.script('clone-or-update', ws, {}, extra);
  const pushed = (path: string) => git(remote, 'show', `baton/AB-1:${path}`);
  const remoteText = async () => {
    const objects = await git(remote, 'cat-file', '--batch-all-objects', '--batch-check=%(objectname) %(objecttype)');
    const texts = objects.split('\n').map((line) => git(remote, 'cat-file', '-p', line.split(' ')[0] ?? ''));
    return (await Promise.all(texts)).join('\n');
  };
  return { ...setup, ws, trap, mark, secret, push, update, pushed, remoteText };
}

describe('SEC-29 git on the host', () => {
  test('settings, attributes and hooks that an agent wrote have no effect', async () => {
    const { base, ws, trap, mark, git, commit, seed, remote, push, update, pushed, remoteText } = await attacked();
    const home = join(base, 'home');
    await mkdir(home);
    await writeFile(join(home, 'id_ed25519'), 'CANARY-KEY');
    await writeFile(join(base, 'included'), `[core]\n\tsshCommand = ${trap}\n[filter "evil"]\n\tsmudge = ${trap}\n`);
    const config = `
[include]\n\tpath = ${join(base, 'included')}
[filter "evil"]\n\tclean = ${trap}\n\tsmudge = ${trap}\n\tprocess = ${trap}\n\trequired = true
[core]\n\tsshCommand = ${trap}\n\tfsmonitor = ${trap}\n\thooksPath = ${base}/hooks\n\tworktree = ${home}\n\tpager = ${trap}\n\tgitProxy = ${trap}
[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = ${trap}\n[push]\n\tgpgSign = true
[diff]\n\texternal = ${trap}\n[diff "evil"]\n\ttextconv = ${trap}\n\tcommand = ${trap}\n[merge "evil"]\n\tdriver = ${trap}
[uploadpack]\n\tpackObjectsHook = ${trap}\n[credential]\n\thelper = ${trap}
[url "ext::${trap} "]\n\tinsteadOf = ${remote}
[remote "origin"]\n\turl = ext::${trap}\n\tuploadpack = ${trap}\n\treceivepack = ${trap}\n\tvcs = ext
[protocol]\n\tallow = always
`;
    await appendFile(join(ws, '.git/config'), config);
    await mkdir(join(ws, '.git/info'), { recursive: true });
    for (const file of ['.gitattributes', '.git/info/attributes'])
      await writeFile(join(ws, file), '* filter=evil diff=evil merge=evil\n');
    for (const folder of [join(base, 'hooks'), join(ws, '.git/hooks')]) {
      await mkdir(folder, { recursive: true });
      for (const name of ['pre-commit', 'pre-push', 'post-checkout', 'post-index-change', 'reference-transaction'])
        await writeFile(join(folder, name), `#!/bin/sh\ntouch '${mark}'\n`, { mode: 0o755 });
    }
    await writeFile(join(ws, 'work'), 'done');

    await push({ BATON_REPO_URL: '' });
    await git(seed, 'fetch', '--quiet', remote, 'baton/AB-1');
    await git(seed, 'checkout', '--quiet', 'FETCH_HEAD');
    await commit(seed, 'review', 'x');
    await git(seed, 'push', '--quiet', remote, 'HEAD:baton/AB-1');
    await update();

    expect(existsSync(mark)).toBe(false);
    expect(await pushed('work')).toBe('done');
    expect(await remoteText()).not.toContain('CANARY-KEY');
    expect(await readFile(join(ws, 'review'), 'utf8')).toBe('x');
  });

  test.each(['config', 'commondir'])(
    "what an agent wrote into Baton's own repository has no effect: %s",
    async (kind) => {
      const { base, ws, mark, secret, push, update, pushed } = await attacked();
      const program = join(base, 'program');
      await writeFile(program, `#!/bin/sh\ntouch '${mark}'\nexit 1\n`, { mode: 0o755 });
      const folder = join(base, 'ws/.baton/git');
      const [name = ''] = (await readdir(folder)).filter((entry) => entry.endsWith('.git'));
      const own = join(folder, name);
      const evil = `[core]\n\tsshCommand = ${program}\n\tfsmonitor = ${program}\n[url "ssh://x"]\n\tinsteadOf = ${base}\n`;
      const plant = async () => {
        await appendFile(join(kind === 'config' ? own : `${secret}/.git`, 'config'), evil);
        if (kind === 'commondir') await writeFile(join(own, 'commondir'), `${secret}/.git\n`);
        await mkdir(join(own, 'objects/info'), { recursive: true });
        await writeFile(join(own, 'objects/info/alternates'), `${secret}/.git/objects\n`);
      };
      await writeFile(join(ws, 'work'), 'done');

      await plant();
      await push().catch(() => {});
      await plant();
      await update().catch(() => {});

      expect(existsSync(mark)).toBe(false);
      expect(await pushed('work')).toBe('done');
      expect(await readFile(join(own, 'config'), 'utf8')).not.toContain(program);
      expect(existsSync(join(own, 'objects/info/alternates'))).toBe(false);
    },
  );

  test('a filter of the user runs no file of the workspace', async () => {
    const { base, ws, mark, push, update, pushed } = await attacked();
    // Also where git looks without the variable: in the home folder.
    const global = join(base, '.gitconfig');
    const filter = '[filter "tool"]\n\tclean = sh tool.sh\n\tsmudge = sh tool.sh\n\trequired = true\n';
    await writeFile(global, `${filter}[core]\n\tautocrlf = input\n`);
    await writeFile(join(ws, 'lines'), 'a\r\nb');
    await writeFile(join(ws, 'tool.sh'), `touch '${mark}'; cat\n`);
    await writeFile(join(ws, '.gitattributes'), '* filter=tool\n');

    await push({ GIT_CONFIG_GLOBAL: global });
    await update({ GIT_CONFIG_GLOBAL: global });

    expect(existsSync(mark)).toBe(false);
    expect(await pushed('tool.sh')).toContain('touch');
    // No other setting of the user counts either.
    expect(await pushed('lines')).toBe('a\r\nb');
  });

  test('a remote that is a command is refused', async () => {
    const { ws, trap, mark, push, update } = await attacked();
    await writeFile(join(ws, 'work'), 'x');

    for (const url of [`ext::${trap}`, `ext::sh -c "touch ${mark}"`, `fd::17`]) {
      await expect(update({ BATON_REPO_URL: url })).rejects.toThrow(/git_refused/);
      await expect(push({ BATON_REPO_URL: url })).rejects.toThrow(/git_refused/);
    }

    expect(existsSync(mark)).toBe(false);
  });

  test.each([
    ['https://example.org/x.git', 'https:ssh'],
    ['git@example.org:x.git', 'https:ssh'],
    ['http://example.org/x.git', 'https:ssh:http'],
    ['/srv/x.git', 'https:ssh:file'],
    ['file:///srv/x.git', 'https:ssh:file'],
    ['ext::sh -c x', 'https:ssh'],
    ['git://example.org/x.git', 'https:ssh'],
  ])('with the remote %s git may use the protocols %s', (url, protocols) => {
    expect(remoteEnvironment({ GIT_ALLOW_PROTOCOL: 'ext' }, url).GIT_ALLOW_PROTOCOL).toBe(protocols);
  });

  test.each<[string, (git: string, secret: string) => Promise<unknown>]>([
    [
      'a file that leads to another repository',
      async (git, secret) => {
        await rm(git, { recursive: true });
        await writeFile(git, `gitdir: ${secret}/.git\n`);
      },
    ],
    [
      'a link to another repository',
      async (git, secret) => {
        await rm(git, { recursive: true });
        await symlink(join(secret, '.git'), git);
      },
    ],
    ['borrowed objects', (git, secret) => writeFile(join(git, 'objects/info/alternates'), `${secret}/.git/objects\n`)],
    [
      'a linked folder of objects',
      async (git, secret) => {
        await rename(join(git, 'objects'), join(git, 'old'));
        await symlink(join(secret, '.git/objects'), join(git, 'objects'));
      },
    ],
    [
      'linked packs and loose objects',
      async (git, secret) => {
        for (const name of await readdir(join(secret, '.git/objects'))) {
          const own = join(git, 'objects', name);
          if (name.length === 2 && !existsSync(own)) await symlink(join(secret, '.git/objects', name), own);
        }
      },
    ],
    ['a common folder elsewhere', (git, secret) => writeFile(join(git, 'commondir'), `${secret}/.git\n`)],
    [
      'a linked HEAD',
      async (git, secret) => {
        await rm(join(git, 'HEAD'));
        await symlink(join(secret, '.git/HEAD'), join(git, 'HEAD'));
      },
    ],
    [
      'linked references',
      async (git, secret) => {
        await rm(join(git, 'refs/heads'), { recursive: true });
        await symlink(join(secret, '.git/refs/heads'), join(git, 'refs/heads'));
      },
    ],
  ])('a repository with %s is refused, and a private history stays private', async (_, change) => {
    const { ws, secret, git, push, update, remoteText } = await attacked();
    const head = await git(secret, 'rev-parse', 'HEAD');
    await writeFile(join(ws, '.git/refs/heads/baton/AB-1'), `${head}\n`);
    await mkdir(join(ws, '.git/objects/info'), { recursive: true });
    await change(join(ws, '.git'), secret);

    await expect(push()).rejects.toThrow(/git_refused.*(?:remove the folder|damaged)/s);
    await expect(update()).rejects.toThrow(/git_refused/);

    expect(await remoteText()).not.toContain('CANARY');
  });

  test('a link to a secret is pushed as a link', async () => {
    const { ws, secret, git, remote, push, pushed, remoteText } = await attacked();
    await symlink(join(secret, 'canary'), join(ws, 'file'));
    await symlink(secret, join(ws, 'folder'));

    await push();

    expect(await git(remote, 'ls-tree', '--format=%(objectmode)', 'baton/AB-1', 'file', 'folder')).toBe(
      '120000\n120000',
    );
    expect(await pushed('file')).toBe(join(secret, 'canary'));
    expect(await remoteText()).not.toContain('CANARY-CONTENT');
  });

  test('a nested repository runs nothing, and one without a commit is left out with a notice', async () => {
    const { ws, trap, mark, git, commit, remote, push } = await attacked();
    for (const name of ['inner', 'empty', 'borrows']) await git(ws, 'init', '--quiet', join(ws, name));
    await writeFile(join(ws, 'borrows/.git/objects/info/alternates'), '/elsewhere\n');
    await commit(join(ws, 'inner'), 'file', 'a');
    await appendFile(
      join(ws, 'inner/.git/config'),
      `[core]\n\tfsmonitor = ${trap}\n[filter "evil"]\n\tclean = ${trap}\n`,
    );
    await writeFile(join(ws, 'inner/.gitattributes'), '* filter=evil\n');
    await writeFile(join(ws, 'empty/file'), 'x');
    await writeFile(join(ws, 'work'), 'x');

    const output = await push();
    await writeFile(join(ws, 'inner/file'), 'b');
    await push();

    expect(existsSync(mark)).toBe(false);
    expect(output).toContain('empty is a repository without a commit');
    expect(output).toMatch(/borrows is left alone: .*alternates/);
    expect(await git(remote, 'ls-tree', '--name-only', 'baton/AB-1')).toBe('README\ninner\nwork');
  });
});

describe('SEC-30 the files of the workflow', () => {
  test('changes of them that are not committed are left out', async () => {
    const { ws, git, remote, push } = await attacked();
    for (const file of ['WORKFLOW.md', '.baton/x', '.codebolt/x', 'work']) {
      await mkdir(join(ws, file, '..'), { recursive: true });
      await writeFile(join(ws, file), 'x');
    }

    const output = await push();

    expect(output).toContain('WORKFLOW.md');
    expect(await git(remote, 'ls-tree', '-r', '--name-only', 'baton/AB-1')).toBe('README\nwork');
    expect(await readFile(join(ws, 'WORKFLOW.md'), 'utf8')).toBe('x');
  });

  test('commits of the agent that touch them are pushed as one commit without them, again and again', async () => {
    const { ws, git, commit, remote, push, remoteText } = await attacked();
    await commit(ws, 'WORKFLOW.md', 'CANARY-WORKFLOW');
    await commit(ws, 'work', 'one');
    await git(ws, 'rm', '--quiet', 'WORKFLOW.md');
    await git(ws, 'commit', '--quiet', '-m', 'hide');

    expect(await push()).toContain('one commit without them is pushed');
    expect(await push()).toContain('nothing new to push');
    await writeFile(join(ws, 'work'), 'two');
    await push();

    expect(await git(remote, 'rev-list', '--count', 'main..baton/AB-1')).toBe('1');
    expect(await git(remote, 'ls-tree', '--name-only', 'baton/AB-1')).toBe('README\nwork');
    expect(await git(remote, 'show', 'baton/AB-1:work')).toBe('two');
    expect(await remoteText()).not.toContain('CANARY-WORKFLOW');
  });

  test('a change of them that is already at the remote is no change of the agent', async () => {
    const { ws, git, commit, seed, remote, push } = await attacked();
    await commit(seed, 'WORKFLOW.md', 'theirs');
    await git(seed, 'push', '--quiet', remote, 'main');
    await commit(ws, 'work', 'x');
    await git(ws, 'fetch', '--quiet', remote, 'main');
    await git(ws, 'merge', '--quiet', '--no-edit', 'FETCH_HEAD');

    await push();

    expect(await git(remote, 'show', 'baton/AB-1:WORKFLOW.md')).toBe('theirs');
    expect(await git(remote, 'rev-list', '--count', 'main..baton/AB-1')).toBe('2');
  });
});

describe('SEC-37 the branch', () => {
  test.each(['main', 'release'])('the branch %s of a tracker is not pushed to', async (name) => {
    const { ws, git, seed, remote, script } = await attacked();
    await git(seed, 'push', '--quiet', remote, 'main:release');
    const before = await git(remote, 'rev-parse', name);
    await writeFile(join(ws, 'work'), 'x');

    await script('commit-and-push', ws, { branch_name: name });

    expect(await git(remote, 'rev-parse', name)).toBe(before);
    expect(await git(remote, 'show', 'baton/AB-1:work')).toBe('x');
  });

  test('the default branch is not pushed to, even when delivery.branch names it', async () => {
    const { base, ws, git, remote, push } = await attacked();
    const before = await git(remote, 'rev-parse', 'main');
    await writeFile(join(ws, 'work'), 'x');
    const file = join(base, 'delivery.json');
    const delivery = { branch: 'main', rules: [], approved: null, holdFile: null, secrets: null };
    await writeFile(file, JSON.stringify(delivery));

    await push({ BATON_DELIVERY_FILE: file });

    expect(await git(remote, 'rev-parse', 'main')).toBe(before);
    expect(await git(remote, 'show', 'baton/AB-1:work')).toBe('x');
  });

  test('a branch that Baton did not make is not pushed to, unless it is its own and nothing gets lost', async () => {
    const { base, ws, git, commit, seed, remote, push } = await attacked();
    await git(seed, 'push', '--quiet', remote, 'main:release');
    await commit(seed, 'theirs', 'x');
    await git(seed, 'push', '--quiet', remote, 'main:baton/AB-1');
    await writeFile(join(ws, 'work'), 'x');
    const file = join(base, 'delivery.json');
    await writeFile(
      file,
      JSON.stringify({ branch: 'release', rules: [], approved: null, holdFile: null, secrets: null }),
    );

    await expect(push({ BATON_DELIVERY_FILE: file })).rejects.toThrow(/Baton did not make it/);
    await expect(push()).rejects.toThrow(/commits that are not here/);

    expect(await git(remote, 'rev-parse', 'release')).not.toBe(await git(remote, 'rev-parse', 'baton/AB-1'));
    expect(await git(remote, 'log', '-1', '--format=%s', 'baton/AB-1')).toBe('change theirs');
  });
});

describe('a push that is cut off', () => {
  test('is continued on the branch that it has made', async () => {
    const { base, ws, git, remote, push } = await attacked();
    const file = join(base, 'delivery.json');
    const delivery = { branch: 'feature', rules: [], approved: null, holdFile: null, secrets: null };
    await writeFile(file, JSON.stringify(delivery));
    // The kill comes when the remote has the commit, and Baton does not know it yet.
    const hook = join(remote, 'hooks/post-receive');
    await mkdir(join(remote, 'hooks'), { recursive: true });
    await writeFile(hook, '#!/bin/sh\nkill -9 "$PUSHER"\n', { mode: 0o755 });
    const script = join(DIST, 'hooks/scripts/commit-and-push.sh');
    await writeAt(base, 'killed/commit-and-push.sh', `PUSHER=$$ exec bash '${script}'\n`);
    await writeAt(ws, 'work', 'x');

    await expect(push({ BATON_DELIVERY_FILE: file, BATON_HOOKS: join(base, 'killed') })).rejects.toThrow();
    expect(await git(remote, 'show', 'feature:work')).toBe('x');
    await rm(hook);
    await writeAt(ws, 'work', 'y');
    await push({ BATON_DELIVERY_FILE: file });

    expect(await git(remote, 'show', 'feature:work')).toBe('y');
  });

  test('leaves no lock behind: the next one waits for no killed process, and two never hold the lock at once', async () => {
    const { base } = await attacked();
    const module = pathToFileURL(join(DIST, 'runner/git/host-repository.js')).href;
    const log = join(base, 'log');
    const holder = (act: string) =>
      execFileAsync(process.execPath, [
        '--input-type=module',
        '-e',
        `import { appendFileSync } from 'node:fs'; import { withLock } from ${JSON.stringify(module)};
await withLock({ path: ${JSON.stringify(join(base, 'some.git'))} }, async () => { ${act} });`,
      ]);
    await expect(holder('process.kill(process.pid, "SIGKILL")')).rejects.toThrow();

    const act = `appendFileSync(${JSON.stringify(log)}, 'in '); await new Promise(setImmediate); appendFileSync(${JSON.stringify(log)}, 'out ');`;
    await Promise.all(Array.from({ length: 6 }, () => holder(act)));

    expect(await readFile(log, 'utf8')).toBe('in out '.repeat(6));
  });

  test('of a clone leaves no mark that empties the workspace later', async () => {
    const { base, ws, update } = await attacked();
    await writeFile(join(base, 'ws/.baton/git/workspaces/AB-1/filling'), '');
    await update();
    await writeAt(ws, 'work', 'x');
    await rm(join(ws, '.git'), { recursive: true });

    await expect(update()).rejects.toThrow(/neither empty nor a git repository/);
    expect(await readFile(join(ws, 'work'), 'utf8')).toBe('x');
  });
});

test('git that sends to a git which has ended does not wait', async () => {
  const { base, seed, git } = await attacked();
  await writeFile(join(base, 'large'), Buffer.alloc(1_000_000));
  const id = await git(seed, 'hash-object', '-w', join(base, 'large'));
  const call = { cwd: seed, env: { PATH: process.env.PATH ?? '' } };

  const result = await pipeGit({ ...call, args: ['cat-file', 'blob', id] }, { ...call, args: ['version'] });

  expect(result.ok).toBe(false);
});

test('work in a repository with SHA-256 names is pushed, without what is never pushed', async () => {
  const { base, git, workspace, script, remote } = await gitSetup('sha256');
  const ws = await workspace('AB-1');
  await script('clone-or-update', ws);
  await git(ws, 'init', '--quiet', '--object-format=sha256', 'inner');
  await git(join(ws, 'inner'), 'commit', '--quiet', '--allow-empty', '-m', 'x');
  await writeAt(ws, 'work', 'x');
  await script('commit-and-push', ws);
  await rm(join(ws, 'inner'), { recursive: true });
  await writeAt(ws, 'secret/file', 'x');
  const file = join(base, 'delivery.json');
  const rules = [{ glob: '/secret/', action: 'leave_out' }];
  await writeFile(file, JSON.stringify({ branch: null, rules, approved: null, holdFile: null, secrets: null }));

  await script('commit-and-push', ws, {}, { BATON_DELIVERY_FILE: file });

  expect(await git(remote, 'ls-tree', '--name-only', 'baton/AB-1')).toBe('README\nwork');
});

describe('SEC-32 protected paths', () => {
  test.each<[string, (ws: string) => Promise<unknown>]>([
    ['a workflow of the forge', (ws) => writeAt(ws, '.github/workflows/ci.yml', 'CANARY')],
    ['a name in other letters', (ws) => writeAt(ws, '.GitHub/Workflows/ci.yml', 'CANARY')],
    [
      'a linked folder',
      async (ws) => {
        await writeAt(ws, 'ci/workflows/ci.yml', 'CANARY');
        await symlink('ci', join(ws, '.github'));
      },
    ],
    [
      'a name that macOS takes for a protected one',
      async (ws) => {
        await writeAt(ws, '.vſcode/tasks.json', 'CANARY');
        await writeAt(ws, '.git\u200Chub/workflows/ci.yml', 'CANARY');
      },
    ],
    [
      'a link to a link',
      async (ws) => {
        await writeAt(ws, 'Tools/hooks/pre-commit', 'CANARY');
        await symlink('tools', join(ws, 'first'));
        await symlink('first/hooks', join(ws, '.husky'));
      },
    ],
    ['an install script', (ws) => writeAt(ws, 'package.json', '{"scripts":{"postinstall":"CANARY"}}')],
    ['a hidden binary mark', (ws) => writeAt(ws, 'sub/Jenkinsfile', 'CANARY\0')],
    ['a hook of husky', (ws) => writeAt(ws, '.husky/pre-commit', 'CANARY')],
  ])('%s is not pushed without a yes', async (_, change) => {
    const { base, ws, branches, push } = await attacked();
    await change(ws);
    await writeAt(ws, '.gitattributes', '* -diff binary');
    const file = join(base, 'delivery.json');
    const holdFile = join(base, 'hold.json');
    const rules = DEFAULT_RULES;
    const deliver = async (approved: string | null) => {
      await writeFile(file, JSON.stringify({ branch: null, rules, approved, holdFile, secrets: null }));
      return push({ BATON_DELIVERY_FILE: file });
    };

    await expect(deliver(null)).rejects.toThrow(/held until a person approves/);
    expect(await branches()).toEqual(['main']);
    const hold = JSON.parse(await readFile(holdFile, 'utf8'));
    expect(hold.text).toMatch(/^\+.*CANARY/m);
    await rm(holdFile);
    await expect(deliver('0'.repeat(64))).rejects.toThrow(/held/);
    await deliver(hold.digest);
    expect(await branches()).toEqual(['baton/AB-1', 'main']);
  });

  test('files that run something elsewhere are protected, and ordinary ones are not', () => {
    const asked = `.cargo/config.toml .mvn/extensions.xml gradle/wrapper/gradle-wrapper.properties sub/gradlew.bat pnpm-workspace.yaml
      .vscode/mcp.json .gitpod.yml .aider.conf.yml .zed/settings.json .readthedocs.yaml renovate.json .claude/commands/x.md
      .claude/skills/x/SKILL.md .agents/skills/x/SKILL.md .cursor/hooks.json .github/settings.yml .mergify.yml NuGet.Config .overcommit.yml
      binding.gyp .idea/workspace.xml .nvim.lua .GitHub/Workflows/x.yml .HUSKY/pre-commit opencode.json .kiro/hooks/x.kiro.hook .bundle/config
      uv.toml .tool-versions flake.nix .simple-git-hooks.json .replit .github/hooks/x.json .copilot/mcp.json .gemini/extensions/x/y.json
      .claude/agents/x.md .windsurf/hooks.json .jenkins/Jenkinsfile .pnp.cjs .github/agents/x.md .github/dependabot.yml sub/.npmrc .envrc
      .gitlab/duo/agent-config.yml .github/CODEOWNERS .github/actions/x/action.yml lefthook-local.toml .mcp.json
      .zuul.yaml zuul.d/jobs.yaml .zuul.d/x.yaml codefresh.yml .taskcluster.yml .harness/x.yaml screwdriver.yaml .onedev-buildspec.yml
      .cnb.yml .packit.yaml .prow.yaml .prow/x.yaml .pipelines/x.yml atlantis.yaml .gitlab/renovate.json5 x.gitlab-ci.yml buildkite.yml
      .buildkite.yml bamboo-specs/x.yml .tangled/workflows/x.yml .eas/workflows/x.yml ios/ci_scripts/ci_post_clone.sh .copr/Makefile
      .releaserc .releaserc.json release.config.mjs .goreleaser.yaml .release-it.json .changeset/config.json cliff.toml .versionrc.js
      .bazelversion tools/bazel tools/bazel.bat ci.bazelrc rust-toolchain rust-toolchain.toml .config/mise/config.toml .config/mise.toml
      mise.local.toml .mise.local.toml .mise.ci.toml devbox.json .config/dotnet-tools.json global.json .prototools .rvmrc .gdbinit
      .kilocode/mcp.json .roo/mcp.json .clinerules/workflows/x.md .aider.model.settings.yml .continue/config.yaml .qwen/settings.json
      .opencode/plugin/x.ts .pi/extensions/x.ts .agent/workflows/x.md prek.toml docs/HEAD HEAD head/HEAD fixtures/a.git/config .hg/hgrc
      sub/.jj/repo/config.toml .pdbrc .Renviron .RData .octaverc .ocamlinit wrangler.jsonc .depot/workflows/x.yml .crow/x.yaml`;
    const ordinary = `README.md src/index.ts docs/a.md package-lock.json Makefile .github/ISSUE_TEMPLATE/bug.yml .github/assets/logo.png
      .github/PULL_REQUEST_TEMPLATE.md .gitignore .gitattributes src/agents/x.ts src/github/y.ts gradle/libs.versions.toml .gitlab/issue_templates/x.md
      Cargo.toml .editorconfig tsconfig.json AGENTS.md sub/AGENTS.md CLAUDE.md .clinerules .cursorrules .goosehints .nvmrc .node-version .env.example
      locales/en/global.json src/release.ts src/release/config.ts .changeset/brave-cats-run.md .config/nextest.toml tools/build.sh BUILD.bazel
      src/forge/api.ts src/prow/x.go docs/taskcluster.md src/mise.ts docs/release.toml Dockerfile compose.yaml go.mod src/pipelines/x.ts
      src/harness/x.ts mise/en-place.md src/buildkite/x.ts app/workflow/x.ts CHANGELOG.md src/conductor/x.ts src/platform/x.ts turbo.json
      src/head/index.ts src/HEAD/x docs/head.md src/git/config`;
    const isAsked = (path: string) => ruleFor(path, DEFAULT_RULES)?.action === 'ask';

    expect(asked.split(/\s+/).filter((path) => !isAsked(path))).toEqual([]);
    expect(ordinary.split(/\s+/).filter(isAsked)).toEqual([]);
  });

  test.each([
    ['/infra/[a-c].yml', 'infra/b.yml', 'infra/d.yml'],
    ['/infra/[!a-c].yml', 'infra/d.yml', 'infra/b.yml'],
    ['/infra/[^a-c].yml', 'infra/d.yml', 'infra/b.yml'],
    ['/{infra,ops/live}/*.yml', 'ops/live/x.yml', 'ops/x.yml'],
    ['/a\\[b]/', 'a[b]/x', 'ab/x'],
  ])('the pattern %s matches %s and not %s', (glob, one, other) => {
    const rules = [{ glob, action: 'ask' as const }];

    expect(ruleFor(one, rules)?.action).toBe('ask');
    expect(ruleFor(other, rules)).toBeNull();
  });

  test('a rule that allows a file does not allow a link in place of its folder', () => {
    const rules = [...DEFAULT_RULES, { glob: '/.github/workflows/docs.yml', action: 'allow' as const }];

    expect(ruleFor('.github/workflows/docs.yml', rules)?.action).toBe('allow');
    for (const path of ['.github', '.github/workflows']) expect(ruleFor(path, rules, true)?.action).toBe('ask');
  });

  test('a file behind a protected link is protected, although a rule allows it', async () => {
    const { ws, push } = await attacked();
    await writeAt(ws, '.github/assets/ci.yml', 'CANARY');
    await symlink('assets', join(ws, '.github/workflows'));

    await expect(push()).rejects.toThrow(/\+CANARY/);
  });

  test.each([
    ['an install script', { scripts: { prepare: 'x' } }],
    ['scripts of Composer', { scripts: { 'post-install-cmd': ['x'] } }],
    ['another package manager', { packageManager: 'yarn@https://x.example/y.tgz' }],
    ['a build with node-gyp', { gypfile: true }],
    ['hooks of git', { 'simple-git-hooks': { 'pre-commit': 'x' } }],
    ['commands before a commit', { 'lint-staged': { '*': 'x' } }],
    ['a dependency from git', { devDependencies: { x: 'git+https://x.example/x' } }],
    ['a dependency from GitHub', { dependencies: { x: 'someone/x' } }],
    ['a dependency from a URL', { optionalDependencies: { x: 'https://x.example/x.tgz' } }],
    ['an archive', { dependencies: { x: 'file:./x.tgz' } }],
    ['an override of a dependency of a dependency', { overrides: { a: { b: 'github:someone/b' } } }],
    ['packages that may run scripts', { pnpm: { onlyBuiltDependencies: ['x'] } }],
  ])('%s in package.json needs a person', (_, fields) => {
    const rest = { name: 'p', version: '2.0.0' };

    expect(changesInstallSettings('{"name":"p"}', JSON.stringify({ ...rest, ...fields }))).toBe(true);
    expect(changesInstallSettings(JSON.stringify(fields), JSON.stringify({ ...rest, ...fields }))).toBe(false);
  });

  test('dependencies of a registry and of the same repository need none', () => {
    const dependencies = {
      a: '^1.2.3',
      b: '>=1 <2 || 3.x',
      c: 'latest',
      d: 'npm:@x/y@^2',
      e: 'workspace:*',
      f: 'file:../f',
    };

    expect(changesInstallSettings('{}', JSON.stringify({ dependencies, scripts: { test: 'x' } }))).toBe(false);
  });

  test('an approval counts for the approved content only', async () => {
    const { base, ws, push, branches } = await attacked();
    await writeAt(ws, '.github/workflows/ci.yml', 'CANARY');
    const rules = DEFAULT_RULES;
    const [file, holdFile] = [join(base, 'delivery.json'), join(base, 'hold.json')];
    await writeFile(file, JSON.stringify({ branch: null, rules, approved: null, holdFile, secrets: null }));
    await expect(push({ BATON_DELIVERY_FILE: file })).rejects.toThrow();
    const { digest } = JSON.parse(await readFile(holdFile, 'utf8'));
    await rm(holdFile);
    await writeAt(ws, '.github/workflows/ci.yml', 'on: push # evil');

    await writeFile(file, JSON.stringify({ branch: null, rules, approved: digest, holdFile, secrets: null }));

    await expect(push({ BATON_DELIVERY_FILE: file })).rejects.toThrow(/held/);
    expect(await branches()).toEqual(['main']);
  });

  test('an ordinary change of package.json is pushed', async () => {
    const { ws, push, pushed } = await attacked();
    await writeAt(ws, 'package.json', '{"scripts":{"test":"vitest"},"dependencies":{}}');

    await push();

    expect(await pushed('package.json')).toContain('vitest');
  });
});

describe('SEC-32 protected paths in the history of a branch', () => {
  const CI = '.github/workflows/ci.yml';

  /** The remote has a workflow on `main`. Pushes report the question that they wait for; null when they are not held. */
  async function withCi() {
    const setup = await attacked();
    const { base, git, seed, remote, script } = setup;
    const main = async (text: string) => {
      await writeAt(seed, CI, text);
      await git(seed, 'add', '--all');
      await git(seed, 'commit', '--quiet', '-m', 'ci');
      await git(seed, 'push', '--quiet', remote, 'HEAD:main');
    };
    await main('on: push\n');
    const [file, holdFile] = [join(base, 'delivery.json'), join(base, 'hold.json')];
    const rules = DEFAULT_RULES;
    const deliver = async (ws: string, identifier = 'AB-1', approved: string | null = null) => {
      await rm(holdFile, { force: true });
      await writeFile(file, JSON.stringify({ branch: null, rules, approved, holdFile, secrets: null }));
      const pushing = script('commit-and-push', ws, { identifier }, { BATON_DELIVERY_FILE: file });
      const reason = await pushing.then(
        () => null,
        (error: Error) => error,
      );
      if (!existsSync(holdFile)) {
        if (reason !== null) throw reason;
        return null;
      }
      return JSON.parse(await readFile(holdFile, 'utf8')) as { digest: string; text: string; isCut: boolean };
    };
    /** Pushes with the approval of a person. */
    const approve = async (ws: string, identifier = 'AB-1') => {
      const hold = await deliver(ws, identifier);
      expect(hold).not.toBeNull();
      expect(await deliver(ws, identifier, hold?.digest)).toBeNull();
    };
    const clone = async (identifier: string) => {
      const ws = await setup.workspace(identifier);
      await script('clone-or-update', ws, { identifier });
      return ws;
    };
    const commitAt = async (ws: string, path: string, text: string) => {
      await writeAt(ws, path, text);
      await git(ws, 'add', '--all');
      await git(ws, 'commit', '--quiet', '-m', `change ${path}`);
    };
    const fetched = async (ws: string, branch: string) => {
      await git(ws, 'fetch', '--quiet', remote, branch);
      return git(ws, 'rev-parse', 'FETCH_HEAD');
    };
    const ws = await clone('AB-1');
    await git(ws, 'pull', '--quiet', '--ff-only', remote, 'main');
    return { ...setup, ws, main, deliver, approve, clone, commitAt, fetched };
  }

  test('a change that the next commit takes back is held, with its diff', async () => {
    const { ws, git, commitAt, deliver, branches } = await withCi();
    await commitAt(ws, CI, 'on: push # CANARY\n');
    await commitAt(ws, CI, 'on: push\n');

    const hold = await deliver(ws);

    expect(hold?.text).toContain(CI);
    expect(hold?.text).toContain('+on: push # CANARY');
    expect(hold?.text).toContain((await git(ws, 'rev-parse', 'HEAD~1')).slice(0, 10));
    expect(hold?.isCut).toBe(false);
    expect(await branches()).toEqual(['main']);
    expect(await deliver(ws, 'AB-1', hold?.digest)).toBeNull();
  });

  test.each<[string, (ws: string) => Promise<unknown>]>([
    ['a long diff', (ws) => writeAt(ws, CI, '# x\n'.repeat(10_000))],
    [
      'many files',
      (ws) => Promise.all(Array.from({ length: 101 }, (_, n) => writeAt(ws, `.github/workflows/${n}.yml`, 'x'))),
    ],
    [
      'a diff beside a secret',
      async (ws) => {
        await writeAt(ws, CI, `on: push # ${KEY}\n`);
        await writeAt(ws, 'notes', KEY);
      },
    ],
  ])('SEC-36 %s is not shown whole, so it can only be declined', async (_, change) => {
    const { ws, deliver } = await withCi();
    await change(ws);

    const hold = await deliver(ws);

    expect(hold?.isCut).toBe(true);
    expect(hold?.text.length).toBeLessThanOrEqual(32_000);
    expect(hold?.text).not.toContain(KEY);
  });

  test('so is a file that the next commit removes', async () => {
    const { ws, git, commitAt, deliver } = await withCi();
    await commitAt(ws, '.github/workflows/new.yml', 'CANARY');
    await git(ws, 'rm', '--quiet', '.github/workflows/new.yml');
    await git(ws, 'commit', '--quiet', '-m', 'hide');

    expect((await deliver(ws))?.text).toContain('+CANARY');
  });

  test('so is one behind a link that the next commit removes', async () => {
    const { ws, git, commitAt, deliver } = await withCi();
    await git(ws, 'mv', '.github', 'x');
    await symlink('x', join(ws, '.github'));
    await commitAt(ws, 'x/workflows/ci.yml', 'CANARY\n');
    await rm(join(ws, '.github'));
    await git(ws, 'rm', '-r', '--quiet', '--cached', 'x', '.github');
    await git(ws, 'checkout', '--quiet', 'HEAD~1', '--', '.github');
    await rm(join(ws, 'x'), { recursive: true });
    await commitAt(ws, 'work', 'x');

    expect((await deliver(ws))?.text).toContain('+CANARY');
  });

  test.each([
    ['its own branch', 'AB-1'],
    ['the branch of another issue', 'AB-2'],
  ])('a branch that begins at an earlier commit of %s is judged as a whole', async (_, identifier) => {
    const { ws, git, clone, commitAt, approve, deliver, fetched, branches } = await withCi();
    await commitAt(ws, CI, 'on: push # CANARY\n');
    await commitAt(ws, CI, 'on: push\n');
    await approve(ws);

    const next = identifier === 'AB-1' ? ws : await clone(identifier);
    await fetched(next, 'baton/AB-1');
    await git(next, 'reset', '--quiet', '--hard', 'FETCH_HEAD~1');
    await writeAt(next, 'harmless', 'x');
    const hold = await deliver(next, identifier);

    expect(hold?.text).toContain('+on: push # CANARY');
    expect(await branches()).toEqual(['baton/AB-1', 'main']);
    expect(await git(next, 'show', `FETCH_HEAD:${CI}`)).toBe('on: push');
  });

  test('so is one that begins at, or merges, a branch of somebody else', async () => {
    const { ws, git, seed, remote, clone, commitAt, deliver, approve, fetched } = await withCi();
    await git(seed, 'checkout', '--quiet', '-b', 'theirs');
    await commitAt(seed, CI, 'on: push # CANARY\n');
    await commitAt(seed, 'WORKFLOW.md', 'CANARY-WORKFLOW');
    await git(seed, 'push', '--quiet', remote, 'theirs');
    await git(ws, 'reset', '--quiet', '--hard', await fetched(ws, 'theirs'));
    await writeAt(ws, 'harmless', 'x');
    const other = await clone('AB-2');
    await writeAt(other, 'harmless', 'x');
    await git(other, 'add', '--all');
    await git(other, 'commit', '--quiet', '-m', 'work');
    await git(other, 'merge', '--quiet', '--no-edit', await fetched(other, 'theirs'));

    expect((await deliver(ws))?.text).toMatch(
      /CANARY-WORKFLOW[\s\S]*\+on: push # CANARY|\+on: push # CANARY[\s\S]*CANARY-WORKFLOW/,
    );
    expect((await deliver(other, 'AB-2'))?.text).toContain('+on: push # CANARY');
    await approve(ws);
    await writeAt(ws, 'harmless', 'y');
    expect(await deliver(ws)).toBeNull();
  });

  test('a merge that keeps its own version of a file that the base branch has changed is held', async () => {
    const { ws, git, main, commitAt, deliver, fetched } = await withCi();
    await commitAt(ws, 'work', 'x');
    expect(await deliver(ws)).toBeNull();
    await main('on: push # safer\n');
    await git(ws, 'merge', '--quiet', '--no-edit', '-s', 'ours', await fetched(ws, 'main'));

    expect((await deliver(ws))?.text).toContain('-on: push # safer');
  });

  test('a merge with content that no parent has is held', async () => {
    const { ws, git, main, commitAt, deliver, fetched } = await withCi();
    await commitAt(ws, 'work', 'x');
    await main('on: push # theirs\n');
    await git(ws, 'merge', '--quiet', '--no-commit', '--no-ff', await fetched(ws, 'main'));
    await commitAt(ws, CI, 'on: push # CANARY\n');
    await commitAt(ws, CI, 'on: push # theirs\n');

    expect((await deliver(ws))?.text).toMatch(/^ ?\+\+?on: push # CANARY/m);
  });

  test('what the base branch has changed is not asked', async () => {
    const { ws, git, main, commitAt, deliver, fetched } = await withCi();
    await commitAt(ws, 'work', 'x');
    await main('on: push # theirs\n');
    const theirs = await fetched(ws, 'main');
    await git(ws, 'cherry-pick', theirs);
    expect(await deliver(ws)).toBeNull();
    await main('on: push # and more\n');
    await git(ws, 'merge', '--quiet', '--no-edit', '-X', 'theirs', await fetched(ws, 'main'));

    expect(await deliver(ws)).toBeNull();
  });

  test('what the branch has at the remote is not asked again: after more work, a merge, a rebase, and its removal', async () => {
    const { ws, git, seed, remote, commit, commitAt, deliver, approve, fetched } = await withCi();
    await commitAt(ws, CI, 'on: push # one\n');
    await commitAt(ws, CI, 'on: push # two\n');
    await commitAt(ws, 'package.json', '{"scripts":{"prepare":"make"}}');
    await commitAt(ws, '.husky/pre-commit', 'make');
    await approve(ws);

    await commitAt(ws, 'package.json', '{"scripts":{"prepare":"make"},"version":"2.0.0"}');
    expect(await deliver(ws)).toBeNull();
    await commit(seed, 'theirs', 'x');
    await git(seed, 'push', '--quiet', remote, 'HEAD:main');
    const theirs = await fetched(ws, 'main');
    await git(ws, 'merge', '--quiet', '--no-edit', theirs);
    expect(await deliver(ws)).toBeNull();
    await git(ws, 'rebase', '--quiet', theirs);
    await commitAt(ws, 'work', 'y');
    expect(await deliver(ws)).toBeNull();
    await git(ws, 'checkout', '--quiet', theirs, '--', CI);
    await git(ws, 'rm', '--quiet', 'package.json', '.husky/pre-commit');
    await git(ws, 'commit', '--quiet', '-m', 'take back');
    expect(await deliver(ws)).toBeNull();
    expect(await git(remote, 'diff', '--name-only', 'main...baton/AB-1')).toBe('work');

    await commitAt(ws, CI, 'on: push # one\n');
    expect(await deliver(ws)).not.toBeNull();
  });
});

describe('SEC-31 secrets in what is pushed', () => {
  test.each<[string, (setup: Awaited<ReturnType<typeof attacked>>) => Promise<unknown>]>([
    ['a file', ({ ws }) => writeAt(ws, 'notes', `one\ntoken ${KEY}\n`)],
    [
      'a commit that the next one takes back',
      async ({ ws, commit, git }) => {
        await commit(ws, 'notes', KEY);
        await git(ws, 'rm', '--quiet', 'notes');
        await git(ws, 'commit', '--quiet', '-m', 'hide');
      },
    ],
    ['the message of a commit', ({ ws, git }) => git(ws, 'commit', '--quiet', '--allow-empty', '-m', KEY)],
    [
      'a file with a NUL that an attribute calls binary',
      async ({ ws }) => {
        await writeAt(ws, '.gitattributes', '* binary');
        await writeAt(ws, 'data', `\0\n${KEY}\n`);
      },
    ],
    ['the name of a file', ({ ws }) => writeAt(ws, `${KEY}.txt`, '')],
    ['a file in UTF-16', ({ ws }) => writeFile(join(ws, 'notes'), Buffer.from(`\ufeffone\ntoken ${KEY}\n`, 'utf16le'))],
  ])('a key in %s holds the push, and is not shown', async (_, change) => {
    const setup = await attacked();
    const { ws, branches, push } = setup;
    await change(setup);
    await writeAt(ws, 'work', 'x');

    const error = await push().catch((reason: Error) => reason.message);

    expect(error).toMatch(/looks like a secret/);
    expect(error).not.toContain(KEY);
    expect(await branches()).toEqual(['main']);
  });

  test('a file that is too large to be searched holds the push, and is not called a secret', async () => {
    const { ws, branches, push } = await attacked();
    await writeFile(join(ws, 'large.bin'), Buffer.alloc(33 * 1024 * 1024));

    const error = await push().catch((reason: Error) => reason.message);

    expect(error).toMatch(/not searched for secrets[^\n]*\n {2}large\.bin\n/);
    expect(error).not.toMatch(/looks like a secret/);
    expect(await branches()).toEqual(['main']);
  });

  test('a secret that the daemon knows holds the push', async () => {
    const { base, ws, branches, push } = await attacked();
    const { secretPrints } = await import('../../src/domain/find-secrets.js');
    const secrets = secretPrints(['the-canary-of-the-operator'], 'salt');
    const file = join(base, 'delivery.json');
    await writeFile(file, JSON.stringify({ branch: null, rules: [], approved: null, holdFile: null, secrets }));
    await writeAt(ws, 'work', 'x = the-canary-of-the-operator');

    await expect(push({ BATON_DELIVERY_FILE: file })).rejects.toThrow(/looks like a secret/);
    expect(await branches()).toEqual(['main']);
  });
});

async function writeAt(ws: string, path: string, text: string): Promise<void> {
  await mkdir(join(ws, path, '..'), { recursive: true });
  await writeFile(join(ws, path), text);
}
