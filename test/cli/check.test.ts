import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Finding } from '../../src/cli/check/finding.js';
import { check } from '../../src/cli/check.js';
import { BatonError } from '../../src/domain/errors.js';
import type { IssueBatch } from '../../src/domain/ports.js';
import { createTrackerRegistry } from '../../src/tracker/registry.js';
import { MemoryTracker } from '../support/memory-tracker.js';
import { otherAccount } from '../support/other-account.js';
import { memoryRegistry, type World, world } from './cli-fixture.js';

const CODEX = '#!/bin/sh\necho codex-cli 9.9.9\n';

function settings(rest = '', labels = '[baton]'): string {
  return `---\ntracker:\n  kind: memory\n  required_labels: ${labels}\nworkspace: { min_free_mb: 1 }\n${rest}\n---\nDo {{ issue.title }}\n`;
}

async function checked(io: World, text: string | null, registry = memoryRegistry()) {
  if (text !== null) io.write('WORKFLOW.md', text);
  const code = await check({ workflowPath: 'WORKFLOW.md', json: true, schema: false }, io, registry);
  const { ok, findings, summary } = JSON.parse(io.out()) as {
    ok: boolean;
    findings: Finding[];
    summary: { [key: string]: number | null };
  };
  const of = (wanted: string) => findings.filter((finding) => finding.code === wanted);
  return { code, ok, findings, summary, of };
}

/** An environment without problems. */
function goodWorld(env: NodeJS.ProcessEnv = {}): World {
  const io = world({ env });
  io.program('codex', CODEX);
  return io;
}

describe('a valid workflow', () => {
  test('is ready, shows how many issues would start, and exits 0', async () => {
    const io = goodWorld();
    io.write('WORKFLOW.md', settings());
    const tracker = new MemoryTracker();
    for (const id of ['A', 'B', 'C']) tracker.put({ id, labels: ['baton'] });

    const code = await check({ workflowPath: 'WORKFLOW.md', json: false, schema: false }, io, memoryRegistry(tracker));

    expect(code, io.out()).toBe(0);
    expect(io.out()).toMatch(/✓ the agent is .*\/codex \(codex-cli 9\.9\.9\)/);
    expect(io.out()).not.toContain('✗');
    expect(io.out()).toMatch(/\nReady: 3 issues would start\..*\n$/);
    expect(tracker.isClosed).toBe(true);
  });

  test('leaves no folder, file or process behind', async () => {
    const io = goodWorld();
    const hooks = 'hooks:\n  after_create: echo hello\n';

    const { code } = await checked(io, settings(hooks));

    const processes = readdirSync('/proc').filter((pid) => {
      try {
        return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(io.homeDir);
      } catch {
        return false;
      }
    });
    expect({ code, processes }).toEqual({ code: 0, processes: [] });
    expect(readdirSync(io.dir)).toEqual(['WORKFLOW.md']);
    expect(readdirSync(io.homeDir)).toEqual(['.profile']);
  });

  test.each(['$PWD/codex', '"$BATON_WORKSPACE"/codex', 'DIR/codex', './codex'])(
    'a codex from the repository itself is not started: %s',
    async (command) => {
      const io = goodWorld();
      chmodSync(io.write('codex', '#!/bin/sh\ntouch started\n'), 0o755);

      await checked(io, settings(`codex: { command: '${command.replace('DIR', io.dir)} app-server' }`));

      expect(readdirSync(io.dir).sort()).toEqual(['WORKFLOW.md', 'codex']);
    },
  );

  test('--schema prints the JSON Schema and nothing else, without any file', async () => {
    const io = world();

    const code = await check({ workflowPath: 'none.md', json: false, schema: true }, io, memoryRegistry());

    expect(code).toBe(0);
    expect(JSON.parse(io.out())).toMatchObject({
      properties: { tracker: { properties: { kind: { enum: ['memory'] } } } },
    });
  });
});

describe('the file', () => {
  test('all problems of settings, prompt and hooks are reported together, each with its line; exit 2', async () => {
    const text = `---\ntracker: { kind: memory }\nagent:\n  max_turns: many\n  max_trns: 3\nhooks:\n  timeout_ms: soon\n  before_run: |\n    echo 1\n    fi\n---\n\nDo {{ issue.titel }}\n`;

    const { code, findings } = await checked(goodWorld(), text);

    const places = findings.map(({ level, line, column }) => `${level} ${line}:${column}`);
    expect(code).toBe(2);
    expect(places.sort()).toEqual(['error 10:5', 'error 13:7', 'error 4:14', 'error 7:15', 'warning 5:3']);
    expect(findings.every(({ file }) => file === 'WORKFLOW.md')).toBe(true);
  });

  test.each([
    ['no file', null, 'missing_workflow_file'],
    ['bad YAML', '---\ntracker: {\n---\n', 'workflow_parse_error'],
    ['an unknown tracker', '---\ntracker: { kind: memry }\n---\n', 'unsupported_tracker_kind'],
  ])('%s is one error and exit 2', async (_, text, wanted) => {
    const { code, ok, findings } = await checked(world(), text);

    expect({ code, ok, codes: findings.filter(({ level }) => level === 'error').map((each) => each.code) }).toEqual({
      code: 2,
      ok: false,
      codes: [wanted],
    });
  });

  test.each([
    ['no label gate', '', '[]', 'no_label_gate', 4],
    ['full access', 'codex: { thread_sandbox: danger-full-access }', '[b]', 'full_access', 6],
    ['full access by policy', 'codex:\n  turn_sandbox_policy: { type: dangerFullAccess }', '[b]', 'full_access', 7],
    ['a sandbox without a profile', 'codex:\n  thread_sandbox: workspace-write', '[b]', 'reads_everything', 7],
    ['everything accepted', 'codex:\n  on_approval_request: accept', '[b]', 'accepts_all', 7],
    ['all variables', 'runtime:\n  env: inherit', '[b]', 'env_inherit', 7],
    ['no budget', 'agent:\n  max_tokens_per_issue: 0', '[b]', 'no_budget', 7],
  ])('%s is a warning with its line, and no error', async (_, rest, labels, wanted, line) => {
    const { code, of } = await checked(goodWorld(), settings(rest, labels));

    expect(code).toBe(0);
    expect(of(wanted)).toMatchObject([{ level: 'warning', line }]);
  });
});

test('a token in the file is a warning with its line, and is not printed', async () => {
  const io = goodWorld();

  const { code, findings } = await checked(
    io,
    settings().replace('kind: memory', 'kind: memory\n  provider: { token: abcdef-123456 }'),
  );

  expect(code).toBe(0);
  expect(findings.filter(({ message }) => message.includes('holds a secret'))).toMatchObject([{ line: 4 }]);
  expect(io.out()).not.toContain('abcdef-123456');
});

describe('the agent', () => {
  test('is an error with the install command when it is not installed; exit 1', async () => {
    const io = world({ env: { PATH: '/usr/bin:/bin' } });

    const { code, of } = await checked(io, settings('codex:\n  command: FOO=1 codexx-app app-server'));

    expect(code).toBe(1);
    expect(of('codex_not_found')).toMatchObject([{ level: 'error', line: 7, column: 18 }]);
  });

  test('has its own error when only the terminal finds it, because the login shell has another PATH', async () => {
    const io = goodWorld();
    writeFileSync(join(io.homeDir, '.profile'), 'PATH=/usr/bin:/bin\n');

    const { code, of } = await checked(io, settings());

    expect(code).toBe(1);
    expect(of('codex_not_found')).toMatchObject([
      { message: expect.stringContaining('/usr/bin:/bin'), advice: expect.stringMatching(/\/bin\/codex$/) },
    ]);
  });

  test.each([
    ['an error by default', '', 1],
    ['no error for a workflow that sets a sandbox', 'codex:\n  thread_sandbox: workspace-write', 0],
  ])('SEC-31 a version that is too old to restrict reading is %s', async (_, rest, expected) => {
    const io = goodWorld();
    io.program('codex', '#!/bin/sh\necho codex-cli 0.99.3\n');

    const { code, of } = await checked(io, settings(rest));

    expect({ code, errors: of('agent_profile_unsupported').length }).toEqual({ code: expected, errors: expected });
  });

  test('SEC-31 a folder of another account that keeps Codex from running commands is an error', async () => {
    otherAccount();

    const { code, of } = await checked(goodWorld(), settings());

    expect(code).toBe(1);
    expect(of('agent_socket_folder')).toMatchObject([
      { message: expect.stringContaining('belongs to another account') },
    ]);
  });

  test.each([
    ['npx', 'codex: { command: npx -y @openai/codex app-server }', ''],
    ['a path in it', 'codex: { command: ./node_modules/.bin/codex app-server }', ''],
    ['a folder of it on PATH', '', 'PATH=./node_modules/.bin:$PATH\n'],
    ['the current folder on PATH', '', 'PATH=$PATH:\n'],
  ])('a program that agents can put into the workspace is a warning: %s', async (_, rest, profile) => {
    const io = goodWorld();
    const path = join(io.homeDir, '.profile');
    writeFileSync(path, `${readFileSync(path, 'utf8')}\n${profile}`);
    io.program('npx', CODEX);

    const { of } = await checked(io, settings(rest));

    expect(of('agent_from_workspace')).toMatchObject([{ level: 'warning' }]);
  });

  test('the program of a usual installation is no such warning', async () => {
    expect((await checked(goodWorld(), settings())).of('agent_from_workspace')).toEqual([]);
  });

  test.each([
    ['a warning', '[./misspelt]', { programs_not_readable: 1, readable_missing: 1 }],
    [
      'no warning once codex.readable names their folder',
      '[./tools]',
      { programs_not_readable: 0, readable_missing: 0 },
    ],
  ])('SEC-31 programs on PATH that agents cannot read are %s', async (_, readable, expected) => {
    const io = goodWorld();
    mkdirSync(join(io.dir, 'tools'));
    writeFileSync(join(io.dir, 'tools', 'frobnicate'), '');
    symlinkSync(join(io.dir, 'tools', 'frobnicate'), join(io.dir, '..', 'bin', 'frobnicate'));

    const { code, of } = await checked(io, settings(`codex: { readable: ${readable} }`));

    const counts = {
      programs_not_readable: of('programs_not_readable').length,
      readable_missing: of('readable_missing').length,
    };
    expect({ code, ...counts }).toEqual({ code: 0, ...expected });
  });

  test('the program of the agent is not among the programs that agents cannot read', async () => {
    const io = goodWorld();
    mkdirSync(join(io.dir, 'tools'));
    const link = join(io.dir, '..', 'bin', 'codex');
    renameSync(link, join(io.dir, 'tools', 'codex.js'));
    symlinkSync(join(io.dir, 'tools', 'codex.js'), link);

    const { of } = await checked(io, settings());

    expect(of('agent_found')).toHaveLength(1);
    expect(of('programs_not_readable')).toEqual([]);
  });

  test('is stopped and reported when its version command hangs', { timeout: 20_000 }, async () => {
    const io = goodWorld();
    io.program('codex', '#!/bin/sh\ntrap "" TERM\nsleep 1000 & wait\nsleep 1000\n');

    const { code, of } = await checked(io, settings());

    expect(code).toBe(0);
    expect(of('agent_no_version')).toHaveLength(1);
  });

  test('a profile that exits the shell is an error, whatever it printed before', async () => {
    const io = goodWorld();
    writeFileSync(join(io.homeDir, '.profile'), 'echo hello\nexit 3\n');

    const { code, of } = await checked(io, settings());

    expect(code).toBe(1);
    expect(of('shell_failed')).toHaveLength(1);
  });

  test('a command is not executed to resolve its program', async () => {
    const io = goodWorld();
    const trap = join(io.dir, 'trap');

    const { of } = await checked(io, settings(`codex: { command: '$(touch ${trap}) app-server' }`));

    expect(of('agent_not_checked')).toHaveLength(1);
    expect(statSync(trap, { throwIfNoEntry: false })).toBeUndefined();
  });
});

describe('the tracker', () => {
  test('issues without the label cause a note that names the label', async () => {
    const tracker = new MemoryTracker();
    tracker.put('A-1');

    const { code, summary, of } = await checked(goodWorld(), settings('', '[Go]'), memoryRegistry(tracker));

    expect(code).toBe(0);
    expect(summary).toMatchObject({ active: 1, eligible: 0 });
    expect(of('label_gate')).toMatchObject([
      { level: 'note', line: 4, message: expect.stringContaining('A-1'), advice: expect.stringContaining('"go"') },
    ]);
  });

  test('an unreachable tracker is an error and exit 1', async () => {
    const tracker = new MemoryTracker();
    tracker.fail();

    const { code, of } = await checked(goodWorld(), settings(), memoryRegistry(tracker));

    expect(code).toBe(1);
    expect(of('tracker_request')).toMatchObject([{ level: 'error', line: 3 }]);
    expect(tracker.isClosed).toBe(true);
  });

  test('issues that the tracker cannot read are reported', async () => {
    class Odd extends MemoryTracker {
      override async issuesByStates(): Promise<IssueBatch> {
        return { issues: [], unknown: [], problems: ['tasks/x.md:3 has no id\u001b[2J'] };
      }
    }

    const { code, of } = await checked(goodWorld(), settings(), memoryRegistry(new Odd()));

    expect(code).toBe(0);
    expect(of('tracker_problem')).toMatchObject([{ level: 'warning' }]);
  });

  test('a missing token is reported once with its line', async () => {
    const registry = createTrackerRegistry([
      {
        kind: 'memory',
        defaults: new MemoryTracker().defaults,
        create: () => {
          throw new BatonError('missing_tracker_secret', 'the variable BOARD_TOKEN is not set or empty');
        },
      },
    ]);
    const text =
      '---\ntracker:\n  kind: memory\n  provider:\n    token: $BOARD_TOKEN\n    other: $OTHER_ONE\n---\nDo\n';

    const { code, findings } = await checked(goodWorld(), text, registry);

    const told = findings.filter(({ message }) => /BOARD_TOKEN|OTHER_ONE/.test(message));
    expect(code).toBe(2);
    expect(told.map(({ level, line }) => `${level} ${line}`)).toEqual(['warning 6', 'error 5']);
  });

  test('secrets and control characters of a tracker are not printed', async () => {
    const secret = 'tok-0123456789abcdef';
    const tracker = new MemoryTracker();
    tracker.fail(new BatonError('tracker_auth', `refused Bearer ${secret}\u001b[2J`));
    const io = goodWorld({ BOARD_TOKEN: secret });
    io.write('WORKFLOW.md', '---\ntracker:\n  kind: memory\n  provider: { token: $BOARD_TOKEN }\n---\nDo\n');

    for (const json of [true, false]) {
      tracker.fail(new BatonError('tracker_auth', `refused Bearer ${secret}\u001b[2J`));
      await check({ workflowPath: 'WORKFLOW.md', json, schema: false }, io, memoryRegistry(tracker));
    }

    expect(io.out()).toContain('refused Bearer ***');
    expect(io.out()).not.toContain(secret);
    expect(io.out()).not.toContain('\u001b');
  });
});

describe('hooks', () => {
  test.each([
    ['a block', 'hooks:\n  before_run: | # why\n\n    echo 1\n    if true; then\n', 10, 5],
    ['a one-liner', "hooks: { before_run: 'echo )' }", 6, 23],
    ['a folded block', 'hooks:\n  before_run: >\n    echo )\n', 8, 5],
  ])('a syntax error in %s is reported with its line', async (_, hooks, line, column) => {
    const { code, of } = await checked(goodWorld(), settings(hooks));

    expect(code).toBe(2);
    expect(of('syntax_error')).toMatchObject([{ line, column }]);
  });

  test('a missing shipped script is reported', async () => {
    const { code, of } = await checked(goodWorld(), settings(`hooks: { after_run: 'bash "$BATON_HOOKS/push-it.sh"' }`));

    expect(code).toBe(2);
    expect(of('hook_script_missing')).toMatchObject([{ line: 6, message: expect.stringContaining('push-it.sh') }]);
  });

  const CLONE = 'bash "$BATON_HOOKS/clone-or-update.sh"';
  test.each<[string, string, NodeJS.ProcessEnv, number, string[]]>([
    ['not set', CLONE, {}, 1, ['variable_missing']],
    ['set but not passed on', CLONE, { BATON_REPO_URL: 'x' }, 1, ['variable_missing']],
    ['assigned but not exported', `BATON_REPO_URL=x; ${CLONE}`, {}, 1, ['variable_missing']],
    ['set for the script only', `BATON_REPO_URL="x y" ${CLONE}`, {}, 0, []],
    ['assigned by the hook', `export BATON_REPO_URL=x; ${CLONE}`, {}, 0, []],
  ])('a variable of a shipped script that is %s', async (_, script, env, code, codes) => {
    const found = await checked(goodWorld(env), settings(`hooks:\n  after_create: |\n    ${script}`));

    expect(found.code).toBe(code);
    expect(
      found.findings.filter(({ group, level }) => group === 'Hooks' && level !== 'note').map((f) => f.code),
    ).toEqual(codes);
  });

  test('a variable in env_allow is passed on', async () => {
    const io = goodWorld({ BATON_REPO_URL: 'x' });

    const { code } = await checked(
      io,
      settings(`hooks:\n  after_create: ${JSON.stringify(CLONE)}\n  env_allow: [BATON_REPO_URL]`),
    );

    expect(code).toBe(0);
  });

  test('a variable that a program in a hook reads by itself is reported when hooks do not get it', async () => {
    const env = { GIT_SSH_COMMAND: 'ssh -i key', DOCKER_HOST: 'unix:///x', GIT_PAGER: 'less' };
    const hooks = (more: string) => settings(`hooks:\n  after_create: git clone example . && docker ps\n${more}`);

    const { of } = await checked(goodWorld(env), hooks(''));
    const fixed = await checked(goodWorld(env), hooks('  env_allow: [GIT_SSH_COMMAND, DOCKER_HOST]'));

    expect(of('variable_left_out').map(({ message }) => /reads (\w+)/.exec(message)?.[1])).toEqual([
      ...['GIT_SSH_COMMAND', 'DOCKER_HOST'],
    ]);
    expect(fixed.of('variable_left_out')).toEqual([]);
  });

  test('variables that hooks or the agent command do not receive are reported once each, at their use', async () => {
    const io = goodWorld({ DEPLOY_HOST: 'h', BOARD_TOKEN: 'secret-token', FROM_PROFILE: '' });
    writeFileSync(join(io.homeDir, '.profile'), `PATH="${io.env.PATH}"\nexport FROM_PROFILE=1\n`);
    const hooks = `codex:\n  command: codex -c "$DEPLOY_HOST" app-server\nhooks:\n  after_run: |\n    echo "$HOME $BATON_ISSUE_ID $TMPDIR $FROM_PROFILE $1 $? \${X:-1} '$NOWHERE'"\n    for f in *; do echo "$f"; done\n    ssh "$DEPLOY_HOST" "$BOARD_TOKEN" "$DEPLOY_HOST"\n`;
    const text = settings(hooks).replace('kind: memory', 'kind: memory\n  provider: { token: $BOARD_TOKEN }');

    const { code, of } = await checked(io, text);

    expect(code).toBe(0);
    expect(of('variable_unseen').map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual([
      expect.stringMatching(/^11:\d+ hooks\.after_run uses \$NOWHERE, which is not set/),
      expect.stringMatching(/^13:10 hooks\.after_run uses \$DEPLOY_HOST, which is set here but not passed on to hooks/),
      expect.stringMatching(/^13:25 hooks\.after_run uses \$BOARD_TOKEN, a secret of the tracker/),
      expect.stringMatching(/^8:22 codex\.command uses \$DEPLOY_HOST, .* not passed on to agents/),
    ]);
  });
});

describe('the environment', () => {
  test('a token in a shell profile is reported with its line and without its value', async () => {
    const io = goodWorld();
    writeFileSync(join(io.homeDir, '.bashrc'), '# mine\nexport BOARD_TOKEN=abcdefghijkl\n');
    const text = settings().replace('kind: memory', 'kind: memory\n  provider: { token: $BOARD_TOKEN }');

    const { of } = await checked(io, text);

    expect(of('secret_in_profile')).toMatchObject([{ level: 'warning', file: '~/.bashrc', line: 2 }]);
    expect(io.out()).not.toContain('abcdefghijkl');
  });

  test.each([
    ['is the home directory', (io: World) => io.homeDir, /home directory/],
    ['is writable by every user', (io: World) => openFolder(join(io.dir, 'ws')), /every user/],
    ['is a file', (io: World) => io.write('file', ''), /not a directory/],
    ['is below a file', (io: World) => join(io.write('file', ''), 'ws'), /file in its path/],
    ['is a symlink to the project', (io: World) => linkTo(io.dir, join(io.homeDir, 'link')), /WORKFLOW\.md/],
  ])('a workspace root that %s is an error, and nothing is created', async (_, root, message) => {
    const io = goodWorld();

    const { code, of } = await checked(io, settings().replace('{ min_free_mb: 1 }', `\n  root: ${root(io)}`));

    expect(code).toBe(2);
    expect(of('invalid_workspace_root')).toMatchObject([{ line: 6, message: expect.stringMatching(message) }]);
  });

  test('workspaces inside the state directory are an error, because runs cannot see it', async () => {
    const io = goodWorld();
    io.write(
      'WORKFLOW.md',
      settings().replace('{ min_free_mb: 1 }', `{ min_free_mb: 1, root: ${io.homeDir}/state/ws }`),
    );
    mkdirSync(join(io.homeDir, 'state'));
    const stateDir = join(io.homeDir, 'state');

    const code = await check(
      { workflowPath: 'WORKFLOW.md', json: false, schema: false, stateDir },
      io,
      memoryRegistry(),
    );

    expect(code).toBe(2);
    expect(io.out()).toMatch(/inside the state directory/);
  });

  test('a full disk is an environment error', async () => {
    const { code, of } = await checked(goodWorld(), settings().replace('min_free_mb: 1', 'min_free_mb: 999999999999'));

    expect(code).toBe(1);
    expect(of('low_disk')).toMatchObject([{ line: 5 }]);
  });

  test('SEC-12 runtime.isolation: none is a warning with its reason, and says which secrets agents can read', async () => {
    const provider = 'kind: memory\n  provider: { api_key: $BOARD_TOKEN }';
    const text = settings('runtime: { isolation: none }').replace('kind: memory', provider);

    const { code, of } = await checked(goodWorld({ BOARD_TOKEN: 'canary-board-token' }), text);

    expect(code).toBe(0);
    expect(of('not_isolated')).toMatchObject([
      { level: 'warning', line: 7, message: expect.stringMatching(/state directory.*BOARD_TOKEN/) },
    ]);
  });

  test('strangers are named without a label gate only where anyone may start agents', async () => {
    const messageUnder = async (trust: string) => {
      const text = settings('', '[]').replace('kind: memory', `kind: memory\n  trust: ${trust}`);
      return (await checked(goodWorld(), text)).of('no_label_gate')[0]?.message;
    };

    expect(await messageUnder('anyone')).toContain('strangers');
    expect(await messageUnder('[ann]')).not.toContain('strangers');
  });

  test('WORKFLOW.md inside the workspaces is reported', async () => {
    const io = goodWorld();
    const { findings } = await checked(io, settings().replace('{ min_free_mb: 1 }', '{ root: . }'));

    expect(findings.some(({ message }) => message.includes('inside workspace.root'))).toBe(true);
  });
});

function openFolder(path: string): string {
  mkdirSync(path);
  chmodSync(path, 0o777);
  return path;
}

function linkTo(target: string, path: string): string {
  symlinkSync(target, path);
  return path;
}
