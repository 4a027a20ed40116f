import { spawn, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isolationFault } from '../../src/daemon/isolation.js';
import { forms } from '../runner/contain/workbench.js';
import { workflow } from '../support/builders.js';
import { DIST } from '../support/dist.js';
import { namespacesAre } from '../support/limited-namespaces.js';
import { type TestDaemon, testDaemon } from '../support/test-daemon.js';

const hasNamespaces = forms.includes('pidns');
/** Starts a command in a user namespace without a mapping: the kernel makes no further namespaces there. */
const FORBIDDEN = hasNamespaces ? ['unshare', '--user', '--'] : [];
const CANARY = 'canary-7f3a';

const read = (daemon: TestDaemon, name: string) => readFile(join(daemon.dir, name), 'utf8');

const firstRun = async (daemon: TestDaemon) => {
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  await daemon.until('a run', (state, event) => event?.type === 'run_exited' && state.records['1']?.runs === 1);
};

describe.runIf(hasNamespaces)('what runs cannot see', () => {
  test("SEC-29 SEC-34 hooks see Baton's folder beside the workspaces, agents do not", async () => {
    const look = (file: string) => `cat ../.baton/canary > ../../${file}; ls -A ../.baton >> ../../${file}`;
    const daemon = await testDaemon({
      settings: `hooks: { after_create: 'echo ${CANARY} > ../.baton/canary', before_run: '${look('hook')}' }
codex: { command: "${look('agent')}; exit 1" }`,
    });

    await firstRun(daemon);

    expect(await read(daemon, 'hook')).toContain(CANARY);
    expect(await read(daemon, 'agent')).toBe('');
  });

  test("SEC-29 SEC-34 neither does the git that saves the work of a workspace, which reads the agent's repository", async () => {
    const daemon = await testDaemon({
      settings: `hooks: { after_create: 'git init --quiet . && echo ${CANARY} > ../.baton/canary' }
codex: { command: 'exit 1' }`,
      async before(dir) {
        await mkdir(join(dir, 'bin'));
        const look = `[ -z "$BATON_SAVE_FOLDER" ] || { echo looked; cat ../.baton/canary; } >> '${dir}/seen'`;
        const script = `#!/bin/sh\n${look}\nPATH=\${PATH#*:} exec git "$@"\n`;
        await writeFile(join(dir, 'bin/git'), script, { mode: 0o755 });
        await writeFile(join(dir, 'home/.profile'), `PATH=${dir}/bin:$PATH\n`);
      },
    });
    await firstRun(daemon);

    daemon.tracker.put({ id: '1', identifier: 'AB-1', state: 'Done' });

    await expect.poll(() => readdir(daemon.workspaces), { timeout: 20_000 }).not.toContain('AB-1');
    expect(await read(daemon, 'seen')).toMatch(/^(?:looked\n)+$/);
  });

  describe('of the other daemons of this user', () => {
    /** What a process of a daemon finds at these paths, beside those that every daemon has. */
    const found = async (process: string, home: string, paths: readonly string[], others: () => Promise<unknown>) => {
      const commands = paths.map((path) => `find ${path} -type f -o -type s; cat ${path}/canary`).join('; ');
      const script = `{ ${commands}; } > ../../found; exit 1`;
      const daemon = await testDaemon({
        home,
        settings: process === 'an agent' ? `codex: { command: "${script}" }` : `hooks: { before_run: "${script}" }`,
      });
      await others();
      await firstRun(daemon);
      return read(daemon, 'found');
    };

    test.each([
      ['an agent', 'before'],
      ['an agent', 'after'],
      ['a hook', 'after'],
    ])('SEC-34 %s sees no state of a daemon that started %s its own', async (process, when) => {
      const dir = await tempFolder();
      const home = join(dir, 'home');
      const usual = join(home, '.local/state/baton');
      const [inside, elsewhere, ended] = [join(usual, 'one'), join(dir, 'elsewhere'), join(dir, 'ended')] as const;
      const start = async () => {
        const [, , last] = await Promise.all(
          [inside, elsewhere, ended].map((stateDir, index) =>
            testDaemon({ home, stateDir, provider: `{ assignee: other-${index} }` }),
          ),
        );
        await last?.stop();
        for (const folder of [usual, inside, elsewhere, ended]) await writeFile(join(folder, 'canary'), CANARY);
      };
      if (when === 'before') await start();

      const seen = await found(process, home, [usual, elsewhere, ended], when === 'after' ? start : async () => {});

      expect(seen).toBe('');
    });

    test('SEC-34 no process of a run sees the variables of services, even if they were written after the start', async () => {
      const dir = await tempFolder();
      const home = join(dir, 'home');
      const config = join(home, '.config/baton');

      const seen = await found('an agent', home, [config], async () => {
        await mkdir(config, { recursive: true });
        await writeFile(join(config, 'canary'), CANARY);
      });

      expect(seen).toBe('');
    });

    test('a state directory of another daemon that is gone does not prevent a run', async () => {
      const dir = await tempFolder();
      const home = join(dir, 'home');
      const stateDir = join(dir, 'gone');
      await (await testDaemon({ home, stateDir })).stop();
      await rm(stateDir, { recursive: true });
      const daemon = await testDaemon({ home, settings: 'codex: { command: "echo ran > ../../ran; exit 1" }' });

      await firstRun(daemon);

      expect(await read(daemon, 'ran')).toBe('ran\n');
    });

    test('a workspace root that no run may see is refused at the start', async () => {
      const home = join(await tempFolder(), 'home');
      const root = join(home, '.local/state/baton/work');

      const start = testDaemon({ home, settings: '', root });

      await expect(start).rejects.toMatchObject({ code: 'invalid_workspace_root' });
    });
  });
});

describe('without namespaces', () => {
  /** The built daemon as a user for whom the kernel makes no namespaces. */
  const startForbidden = async (text: string, env: NodeJS.ProcessEnv) => {
    const dir = await tempFolder();
    await writeFile(join(dir, 'WORKFLOW.md'), text);
    await mkdir(join(dir, 'board/tasks'), { recursive: true });
    const daemon = [process.execPath, join(DIST, 'src/main.js'), '--once', '--state-dir', join(dir, 'state')];
    const [file = '', ...args] = [...FORBIDDEN, ...daemon];
    return spawnSync(file, args, {
      cwd: dir,
      env: { PATH: process.env.PATH, HOME: dir, ...env },
      encoding: 'utf8',
      timeout: 25_000,
    });
  };
  const linear = `---
tracker: { kind: linear, provider: { project_slug: x } }
---
Work`;
  const local = `---
tracker: { kind: local, provider: { path: board } }
---
Work`;

  test('SEC-12 a daemon with a secret that agents could read does not start, and names it', async () => {
    const { status, stderr, stdout } = await startForbidden(linear, { LINEAR_API_KEY: CANARY });

    expect(status).toBe(2);
    expect(stderr).toMatch(/isolation_needed.*LINEAR_API_KEY.*\nruntime:\n {2}isolation: none/);
    expect(stdout + stderr).not.toContain(CANARY);
  });

  test('SEC-12 a daemon that was allowed to start without them says what agents can read', async () => {
    const daemon = await testDaemon({
      settings: 'runtime: { isolation: none }',
      provider: '{ api_key: $BOARD_TOKEN }',
      env: { BOARD_TOKEN: CANARY },
    });

    expect(daemon.logLines.find(({ msg }) => msg === 'isolation of runs')).toMatchObject({
      level: 'warn',
      isolation: 'none',
      detail: expect.stringContaining('agents can read the state directory'),
      readable_by_agents: ['BOARD_TOKEN'],
    });
  });

  test('a daemon without a secret starts', async () => {
    const { status } = await startForbidden(local, {});

    expect(status).toBe(0);
  });

  test.each([
    ['auto', 'none', { TOKEN: 'x' }, 'isolation_needed'],
    ['auto', 'none', { TOKEN: '' }, undefined],
    ['auto', 'pidns', { TOKEN: 'x' }, undefined],
    ['none', 'none', { TOKEN: 'x' }, undefined],
  ] as const)('isolation %s that ends as %s with %j is judged as %s', (isolation, kind, env, code) => {
    const { config } = workflow();
    const given = { secretNames: ['TOKEN'], config: { ...config, runtime: { ...config.runtime, isolation } } };

    expect(isolationFault({ kind, reason: 'No.' }, given, env)?.code).toBe(code);
  });
});

describe.runIf(hasNamespaces)('namespaces that an agent of another daemon uses up', () => {
  /** The built daemon, started by the same user in these circumstances. */
  const startWhen = (state: Parameters<typeof namespacesAre>[0], dir: string) => {
    const daemon = [process.execPath, join(DIST, 'src/main.js'), '--once', '--state-dir', join(dir, 'state')];
    const [file, ...args] = [...namespacesAre(state), ...daemon];
    const env = { PATH: process.env.PATH, HOME: dir };
    return spawnSync(file, args, { cwd: dir, env, encoding: 'utf8', timeout: 25_000 });
  };
  const project = async () => {
    const dir = await tempFolder();
    await writeFile(join(dir, 'WORKFLOW.md'), '---\ntracker: { kind: local, provider: { path: board } }\n---\nWork');
    await mkdir(join(dir, 'board/tasks'), { recursive: true });
    return dir;
  };

  test('SEC-12 a daemon that starts meanwhile does not go on without them; systemd may start it again', async () => {
    const dir = await project();

    const refused = startWhen('exhausted', dir);
    const later = startWhen('free', dir);

    expect(refused).toMatchObject({ status: 1, stderr: expect.stringMatching(/isolation_failed.*No space left/) });
    expect(refused.stderr).toMatch(/lsns --type user.*\nruntime:\n {2}isolation: none/);
    expect(later.status).toBe(0);
  });

  test('SEC-12 a daemon that is open when they are used up goes on with its settings', async () => {
    const dir = await project();
    const script = `"$@" & until [[ -e use-up ]]; do sleep 0.1; done
      unshare --user bash -c 'echo > used-up; exec sleep 1000' & wait`;
    const run = [process.execPath, join(DIST, 'src/main.js'), 'run', '--allow-changes', '--state-dir', 'state'];
    const [file, ...args] = [...namespacesAre('one'), 'bash', '-c', script, 'bash', ...run];
    const env = { PATH: process.env.PATH, HOME: dir };
    const daemon = spawn(file, args, { cwd: dir, env, stdio: ['ignore', 'ignore', 'pipe'], detached: true });
    onTestFinished(() => void (daemon.pid && process.kill(-daemon.pid, 'SIGKILL')));
    let log = '';
    daemon.stderr.on('data', (chunk) => {
      log += chunk;
    });
    await expect.poll(() => log, { timeout: 10_000 }).toContain('"msg":"started"');
    await writeFile(join(dir, 'use-up'), '');
    await expect.poll(() => readdir(dir), { timeout: 10_000 }).toContain('used-up');

    const text = await readFile(join(dir, 'WORKFLOW.md'), 'utf8');
    await writeFile(join(dir, 'WORKFLOW.md'), text.replace('---\nWork', 'workspace: { root: elsewhere }\n---\nWork'));

    const refused = /isolation_failed.*changed settings cannot be used, the old ones stay/;
    await expect.poll(() => log, { timeout: 10_000 }).toMatch(refused);
    expect(log).not.toMatch(/closed, opening again/);
  });

  test('SEC-12 a daemon starts without them only if none of this user has had them since the machine was started', async () => {
    const [never, before] = [await project(), await project()];
    startWhen('free', before);

    expect(startWhen('forbidden', never).status).toBe(0);
    expect(startWhen('forbidden', before)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/isolation_failed.*have worked since this machine was started/),
    });
  });
});

async function tempFolder(): Promise<string> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'baton-security-')));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}
