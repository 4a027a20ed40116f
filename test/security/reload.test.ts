import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { acceptedShape, stateShape } from '../../src/api/schemas.js';
import { connectDaemon } from '../../src/cli/client.js';
import { SETTINGS } from '../../src/workflow/schema.js';
import { place } from '../cli/command.js';
import { agentCommand, type TestDaemon, type TestDaemonOptions, testDaemon } from '../support/test-daemon.js';

/*
 * The operator's own repository contains WORKFLOW.md. An agent has changed it, or code that it runs, on its branch, and the operator
 * checks that branch out to look at it, while the daemon runs or is started again.
 */

const git = (dir: string, ...args: string[]) =>
  execFileSync('git', ['-C', dir, '-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], { stdio: 'pipe' });

type Files = { readonly [path: string]: string };

interface Attack extends Pick<TestDaemonOptions, 'settings' | 'provider'> {
  /** Files of the repository besides WORKFLOW.md. */
  readonly files?: Files;
  /** What the agent's branch changes, from the old texts. */
  readonly changes: (read: (path: string) => string) => Files;
}

/** A daemon in a repository with the branches `main` and `agent`. */
async function repositoryWith({ files = {}, changes, ...settings }: Attack): Promise<TestDaemon> {
  return testDaemon({
    ...settings,
    async before(dir) {
      await writeFile(join(dir, '.gitignore'), 'home\nstate\nlocks\nworkspaces\ncanary\nseen*\n');
      git(dir, 'init', '-q', '-b', 'main');
      await writeAll(dir, files);
      commitAll(dir);
      git(dir, 'checkout', '-q', '-b', 'agent');
      await writeAll(
        dir,
        changes((path) => readFileSync(join(dir, path), 'utf8')),
      );
      commitAll(dir);
      git(dir, 'checkout', '-q', 'main');
    },
  });
}

async function writeAll(dir: string, files: Files): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
    await chmod(join(dir, path), 0o755);
  }
}

function commitAll(dir: string): void {
  git(dir, 'add', '-A');
  git(dir, 'commit', '-q', '--allow-empty', '-m', 'x');
}

const checkOut = ({ dir }: TestDaemon, branch: string) => git(dir, 'checkout', '-q', branch);
const canaryOf = ({ dir }: Pick<TestDaemon, 'dir'>) => existsSync(join(dir, 'canary'));

const isHeld = ({ logLines }: TestDaemon) => logLines.some(({ msg }) => msg === HELD);
const HELD = 'workflow is held, the allowed settings stay';

async function untilHeld(daemon: TestDaemon): Promise<void> {
  await expect.poll(() => isHeld(daemon), { timeout: 10_000 }).toBe(true);
}

/** Puts a new issue on the board, and waits until its run has ended. */
async function work(daemon: TestDaemon, id: string): Promise<void> {
  daemon.tracker.put({ id, identifier: id });
  await daemon.until(`the end of a run of ${id}`, (state, event) => event?.type === 'run_exited' && id in state.claims);
}

async function stateOf({ workflowPath, stateDir, dir }: TestDaemon) {
  const client = await connectDaemon({ workflow: workflowPath, stateDir }, { cwd: dir, env: {}, homeDir: dir });
  try {
    return await client.get('/api/v1/state', stateShape);
  } finally {
    client.close();
  }
}

/** As `baton allow` does, for the content with this hash. */
async function allow({ workflowPath, stateDir, dir }: TestDaemon, hash: string): Promise<void> {
  const client = await connectDaemon({ workflow: workflowPath, stateDir }, { cwd: dir, env: {}, homeDir: dir });
  try {
    await client.post('/api/v1/allow', { hash }, acceptedShape);
  } finally {
    client.close();
  }
}

const OBEDIENT = `codex: { command: ${JSON.stringify(agentCommand('obedient'))} }\nagent: { max_turns: 1 }`;
const HOOK = "hooks: { before_run: 'echo old >> ../../seen' }";

const replaced =
  (from: string, to: string): Attack['changes'] =>
  (read) => {
    const text = read('WORKFLOW.md');
    expect(text).toContain(from);
    return { 'WORKFLOW.md': text.replace(from, to) };
  };

describe('SEC-30 an agent’s branch is checked out while the daemon runs', () => {
  test('the changed hook never runs, the allowed hook goes on, and after `baton allow` the new one applies', async () => {
    const changes = replaced('echo old >> ../../seen', 'echo new >> ../../seen; touch ../../canary');
    const daemon = await repositoryWith({ settings: `${HOOK}\n${OBEDIENT}`, changes });

    checkOut(daemon, 'agent');
    await untilHeld(daemon);
    await work(daemon, 'A');
    const before = { canary: canaryOf(daemon), seen: await readFile(join(daemon.dir, 'seen'), 'utf8') };
    const { held } = (await stateOf(daemon)).workflow;
    await allow(daemon, held?.hash ?? '');
    await work(daemon, 'B');

    expect(before.canary).toBe(false);
    expect(before.seen).toMatch(/^(?:old\n)+$/);
    expect(held?.changes).toEqual(['hooks.before_run changed']);
    expect(daemon.logLines.find(({ msg }) => msg === HELD)?.diff).toBe(held?.diff);
    expect(held?.diff).toContain("+hooks: { before_run: 'echo new >> ../../seen; touch ../../canary' }");
    expect(canaryOf(daemon)).toBe(true);
    expect((await stateOf(daemon)).workflow.held).toBeNull();
  });

  test.each<[string, Attack, string]>([
    [
      'codex.command',
      { settings: OBEDIENT, changes: replaced('codex: { command: "', 'codex: { command: "touch ../../canary; ') },
      'codex.command changed',
    ],
    [
      'notify.command',
      {
        settings: `${OBEDIENT}\nnotify: { command: "true", on: [done, parked, hold] }`,
        changes: replaced('command: "true"', 'command: "touch canary"'),
      },
      'notify.command changed',
    ],
    [
      'tracker.provider.endpoint',
      { settings: OBEDIENT, provider: '{ endpoint: a }', changes: replaced('endpoint: a', 'endpoint: evil') },
      'tracker.provider.endpoint changed',
    ],
    [
      'the trust rule',
      { settings: OBEDIENT, changes: replaced('kind: memory,', 'kind: memory, trust: anyone,') },
      'tracker.trust: none → anyone',
    ],
    [
      'an executor definition',
      {
        settings: `${OBEDIENT}\nsteps: [{ id: a, kind: external, executor: e }]`,
        files: { '.baton/executors/e.yaml': executorYaml('cat > /dev/null') },
        changes: () => ({ '.baton/executors/e.yaml': executorYaml('cat > /dev/null; touch ../../canary') }),
      },
      'executors changed',
    ],
    [
      'a new step',
      {
        settings: OBEDIENT,
        changes: replaced(
          'codex:',
          'executors: { e: { command: touch, args: [../../canary] } }\nsteps: [{ id: a, kind: external, executor: e }]\ncodex:',
        ),
      },
      'steps added',
    ],
  ])('a changed %s has no effect until it is allowed', async (_, attack, change) => {
    const daemon = await repositoryWith(attack);
    const config = JSON.stringify(daemon.state.config);

    checkOut(daemon, 'agent');
    await untilHeld(daemon);
    await work(daemon, 'A');

    expect((await stateOf(daemon)).workflow.held?.changes).toContain(change);
    expect(canaryOf(daemon)).toBe(false);
    expect(JSON.stringify(daemon.state.config)).toBe(config);
  });

  test('a changed prompt or limit applies at once; together with a changed hook it waits', async () => {
    const daemon = await repositoryWith({ settings: `${HOOK}\n${OBEDIENT}`, changes: () => ({}) });
    const text = await readFile(daemon.workflowPath, 'utf8');

    await writeFile(daemon.workflowPath, text.replace('max_turns: 1', 'max_turns: 2').replace('Work on', 'Look at'));
    await daemon.until('the new limit', (state) => state.config.agent.maxTurns === 2);
    await writeFile(daemon.workflowPath, text.replace('max_turns: 1', 'max_turns: 3').replace('echo old', 'echo new'));
    await untilHeld(daemon);
    const held = daemon.state.config.agent.maxTurns;
    await writeFile(daemon.workflowPath, text.replace('max_turns: 1', 'max_turns: 4'));
    await daemon.until('the limit without the hook', (state) => state.config.agent.maxTurns === 4);

    expect(held).toBe(2);
    expect((await stateOf(daemon)).workflow.held).toBeNull();
  });

  test('a content that is replaced after it was shown is not allowed, and neither is it over HTTP', async () => {
    const changes = replaced('echo old', 'touch ../../canary; echo old');
    const daemon = await repositoryWith({ settings: `${HOOK}\n${OBEDIENT}\nserver: { port: 0 }`, changes });
    checkOut(daemon, 'agent');
    await untilHeld(daemon);
    const { workflow } = await stateOf(daemon);
    const shown = workflow.held?.hash ?? '';
    const url = String(daemon.logLines.find(({ msg }) => msg === 'serving status over HTTP')?.url);
    const token = await readFile(join(daemon.stateDir, 'http-token'), 'utf8');

    const overHttp = await fetch(new URL('/api/v1/allow', url), {
      method: 'POST',
      headers: { authorization: `Bearer ${token.trim()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ hash: shown }),
    });
    const text = await readFile(daemon.workflowPath, 'utf8');
    await writeFile(daemon.workflowPath, text.replace('touch ../../canary', 'touch ../../canary; true'));
    const raced = allow(daemon, shown);

    await expect(raced).rejects.toMatchObject({ code: 'workflow_not_allowed', status: 409 });
    expect([404, 405]).toContain(overHttp.status);
    await work(daemon, 'A');
    expect(canaryOf(daemon)).toBe(false);
  });
});

function executorYaml(script: string): string {
  return `schemaVersion: 2\nkind: Executor\nmetadata: { name: e }\nspec: { command: sh, args: [-c, '${script}'] }\n`;
}

const CAPABILITY: Files = {
  '.codebolt/capabilities/executors/runner/executor.yaml':
    'name: runner\nversion: 1.0.0\nsupportedTypes: [skill]\nentryPoint: index.js\n',
  '.codebolt/capabilities/executors/runner/index.js': executorCode('old'),
  '.codebolt/capabilities/executors/runner/package.json': '{ "private": true }\n',
  '.codebolt/capabilities/skill/tidy/capability.yaml': 'name: tidy\ntype: skill\nversion: 1.0.0\n',
};

function executorCode(mark: string): string {
  return `require('node:fs').appendFileSync('../../../../seen', '${mark}\\n');
import(process.env.BATON_CAPABILITY_CLIENT).then(({ codebolt }) => codebolt.onActionBlockInvocation(async () => ({ ok: true })));\n`;
}

const CODE = '.codebolt/capabilities/executors/runner/index.js';

describe('SEC-30 code of the repository that the workflow runs', () => {
  const settings = `${OBEDIENT}\nsteps: [{ id: a, kind: capability, type: skill, name: tidy }]`;
  const evil = `require('node:fs').writeFileSync('../../../../canary', '');\n${executorCode('new')}`;

  test.each<[string, Files]>([
    ['a capability executor', { [CODE]: evil }],
    ['a file that it may load', { '.codebolt/capabilities/executors/runner/node_modules/x/index.js': evil }],
    [
      'a nearer definition of the same capability',
      {
        '.baton/capabilities/executors/runner/executor.yaml':
          'name: runner\nversion: 1.0.0\nsupportedTypes: [skill]\nentryPoint: index.js\n',
        '.baton/capabilities/executors/runner/index.js': evil,
      },
    ],
  ])('%s that has changed is not started, and holds the daemon until it is allowed', async (_, changed) => {
    const daemon = await repositoryWith({ settings, files: CAPABILITY, changes: () => changed });

    checkOut(daemon, 'agent');
    daemon.tracker.put({ id: 'A', identifier: 'A' });
    await daemon.until('the hold', ({ holds }) => holds.workflow?.code === 'workflow_not_allowed');
    await untilHeld(daemon);
    const before = { canary: canaryOf(daemon), failures: daemon.state.claims.A?.failures };
    const view = await stateOf(daemon);
    await allow(daemon, view.workflow.held?.hash ?? '');
    await daemon.until('a run', ({ claims }) => (claims.A?.failures ?? 0) === 0 && (claims.A?.idleRuns ?? 0) > 0);

    expect(before).toEqual({ canary: false, failures: 0 });
    expect(view.workflow.held?.changes.every((line) => line.startsWith('file .'))).toBe(true);
    expect(view.holds).toMatchObject([{ code: 'workflow_not_allowed', source: 'workflow' }]);
    expect(existsSync(join(daemon.dir, 'seen'))).toBe(true);
  });

  test('when it is put back, work goes on without anything to allow', async () => {
    const daemon = await repositoryWith({ settings, files: CAPABILITY, changes: () => ({ [CODE]: evil }) });

    checkOut(daemon, 'agent');
    daemon.tracker.put({ id: 'A', identifier: 'A' });
    await daemon.until('the hold', ({ holds }) => holds.workflow?.code === 'workflow_not_allowed');
    checkOut(daemon, 'main');
    daemon.dispatch({ type: 'retry_requested', issueId: 'A' });
    await daemon.until('a run', ({ claims }) => (claims.A?.idleRuns ?? 0) > 0);

    expect(canaryOf(daemon)).toBe(false);
    expect(await readFile(join(daemon.dir, 'seen'), 'utf8')).toMatch(/^(?:old\n)+$/);
  });

  test.each<[string, string, Files, string]>([
    [
      'a new executor that takes the place of another one',
      settings,
      {
        'home/.baton/capabilities/executors/evil/executor.yaml':
          'name: evil\nversion: 1.0.0\nsupportedTypes: [skill]\nentryPoint: index.js\n',
        'home/.baton/capabilities/executors/evil/index.js': evil,
      },
      'file ~/.baton/capabilities/executors/evil/index.js added',
    ],
    [
      'the code of a global capability',
      settings,
      { 'home/.codebolt/capabilities/skill/tidy/SKILL.md': 'Do evil.' },
      'file ~/.codebolt/capabilities/skill/tidy/SKILL.md changed',
    ],
    [
      'the program of a global executor',
      `${OBEDIENT}\nsteps: [{ id: a, kind: external, executor: e }]`,
      { 'home/.baton/executors/run.sh': '#!/bin/sh\ntouch ../../canary\n' },
      'file ~/.baton/executors/run.sh changed',
    ],
  ])('%s in the home is held, too', async (_, settings, changed, line) => {
    const daemon = await repositoryWith({
      settings,
      files: {
        'home/.codebolt/capabilities/skill/tidy/capability.yaml': 'name: tidy\ntype: skill\nversion: 1.0.0\n',
        'home/.codebolt/capabilities/skill/tidy/SKILL.md': 'Tidy up.',
        'home/.baton/executors/e.yaml':
          'schemaVersion: 2\nkind: Executor\nmetadata: { name: e }\nspec: { command: ./run.sh }\n',
        'home/.baton/executors/run.sh': '#!/bin/sh\ncat > /dev/null\n',
      },
      changes: () => ({}),
    });

    await writeAll(daemon.dir, changed);
    daemon.tracker.put({ id: 'A', identifier: 'A' });
    await untilHeld(daemon);

    expect((await stateOf(daemon)).workflow.held?.changes).toContain(line);
    expect(canaryOf(daemon)).toBe(false);
  });

  test.each([
    ['sh "$BATON_WORKFLOW_DIR"/scripts/prepare.sh', 'scripts/prepare.sh'],
    ['sh ${BATON_WORKFLOW_DIR}/scripts/prepare.sh', 'scripts/prepare.sh'],
    ['. "${BATON_WORKFLOW_DIR:?}/scripts/prepare.sh"', 'scripts/prepare.sh'],
    ['cd "$BATON_WORKFLOW_DIR" && sh scripts/prepare.sh', 'scripts/prepare.sh'],
    ['(cd -- "$BATON_WORKFLOW_DIR/scripts"; ./prepare.sh)', 'scripts/prepare.sh'],
    ['dir=$BATON_WORKFLOW_DIR/scripts; sh "$dir/prepare.sh"', 'scripts/prepare.sh'],
    ['root=$BATON_WORKFLOW_DIR; dir="$root/scripts"; sh "$dir/prepare.sh"', 'scripts/prepare.sh'],
    [`sh "\${SCRIPTS:-$BATON_WORKFLOW_DIR/scripts}/prepare.sh"`, 'scripts/prepare.sh'],
    ['sh "$(realpath "$BATON_WORKFLOW_DIR")/scripts/prepare.sh"', 'scripts/prepare.sh'],
    ['PATH="$BATON_WORKFLOW_DIR/scripts:$PATH"; prepare.sh', 'scripts/prepare.sh'],
    ['env -C "$BATON_WORKFLOW_DIR" ./scripts/prepare.sh', 'scripts/prepare.sh'],
    ['env --chdir="$BATON_WORKFLOW_DIR" ./scripts/prepare.sh', 'scripts/prepare.sh'],
    ['sh "$BATON_WORKFLOW_DIR/my scripts/prepare.sh"', 'my scripts/prepare.sh'],
    ['sh $BATON_WORKFLOW_DIR/my\\ scripts/prepare.sh', 'my scripts/prepare.sh'],
    ['sh ~/.baton/prepare.sh', 'home/.baton/prepare.sh'],
    ['sh "$HOME/.baton/prepare.sh"', 'home/.baton/prepare.sh'],
  ])('a script that a hook names is compared before each start: %s', async (hook, script) => {
    const daemon = await repositoryWith({
      settings: `${OBEDIENT}\nhooks: { before_run: ${JSON.stringify(hook)} }`,
      files: { [script]: '#!/bin/sh\ntrue\n' },
      changes: () => ({}),
    });

    await writeAll(daemon.dir, { [script]: `#!/bin/sh\ntouch ${daemon.dir}/canary\n` });
    daemon.tracker.put({ id: 'A', identifier: 'A' });
    await daemon.until('the hold', ({ holds }) => holds.workflow?.code === 'workflow_not_allowed');

    expect(canaryOf(daemon)).toBe(false);
  });

  test.each([
    ['a folder that agents may read', 'shared', 'shared'],
    ['the folder around one that agents may read', 'shared', 'shared/docs'],
    ['the root of the workspaces', 'workspaces', 'shared'],
  ])('%s cannot become a link to another place', async (_, link, readable) => {
    const daemon = await repositoryWith({
      settings: OBEDIENT.replace('codex: {', `codex: { readable: [${readable}],`),
      files: { 'shared/docs/a.md': 'a', 'home/secrets/docs/key': 'CANARY' },
      changes: () => ({}),
    });

    await rm(join(daemon.dir, link), { recursive: true });
    await symlink(join(daemon.dir, 'home/secrets'), join(daemon.dir, link));
    daemon.tracker.put({ id: 'A', identifier: 'A' });
    await daemon.until('the hold', ({ holds }) => holds.workflow?.code === 'workflow_not_allowed');

    expect(daemon.logLines.some(({ msg }) => msg === 'turn began')).toBe(false);
  });

  test('a file that a hook names in the workspace is no code of the repository', async () => {
    const daemon = await repositoryWith({
      settings: `${OBEDIENT}\nhooks: { before_run: 'BATON_REPO_URL="$BATON_WORKFLOW_DIR" test -f package.json -o -f "$BATON_WORKSPACE/package.json" || true' }`,
      files: { 'package.json': '{}' },
      changes: () => ({}),
    });

    await writeAll(daemon.dir, { 'package.json': '{ "version": "2.0.0" }' });
    await work(daemon, 'A');

    expect(daemon.state.holds.workflow).toBeUndefined();
  });

  test('a link that now leads to another file is a change', async () => {
    const daemon = await repositoryWith({
      settings: `${OBEDIENT}\nhooks: { before_run: 'sh "$BATON_WORKFLOW_DIR/prepare"' }`,
      files: { 'one.sh': 'echo old >> ../../seen\n', 'two.sh': 'touch ../../canary\n', prepare: 'true\n' },
      changes: () => ({}),
    });

    await symlink('two.sh', join(daemon.dir, 'next'));
    await rename(join(daemon.dir, 'next'), join(daemon.dir, 'prepare'));
    daemon.tracker.put({ id: 'A', identifier: 'A' });
    await daemon.until('the hold', ({ holds }) => holds.workflow?.code === 'workflow_not_allowed');

    expect(canaryOf(daemon)).toBe(false);
  });
});

describe('SEC-30 the daemon is started while an agent’s branch is checked out', () => {
  const changes = replaced('echo old', 'touch ../../canary; echo new');
  const settings = `${HOOK}\n${OBEDIENT}`;

  test('it refuses to start, and starts again with the allowed content', async () => {
    const daemon = await repositoryWith({ settings, changes });
    await daemon.stop();
    checkOut(daemon, 'agent');

    const started = testDaemon({ again: daemon.dir, tracker: daemon.tracker });

    await expect(started).rejects.toMatchObject({
      code: 'workflow_not_allowed',
      details: { changes: ['hooks.before_run changed'] },
    });
    checkOut(daemon, 'main');
    const next = await testDaemon({ again: daemon.dir });
    await work(next, 'A');
    expect(canaryOf(daemon)).toBe(false);
  });

  test('a content that was allowed is the one to start with; the earlier one is refused then', async () => {
    const daemon = await repositoryWith({ settings, changes });
    checkOut(daemon, 'agent');
    await untilHeld(daemon);
    await allow(daemon, (await stateOf(daemon)).workflow.held?.hash ?? '');
    await daemon.stop();

    const again = await testDaemon({ again: daemon.dir });
    await again.stop();
    checkOut(daemon, 'main');

    await expect(testDaemon({ again: daemon.dir })).rejects.toMatchObject({ code: 'workflow_not_allowed' });
  });

  test('--allow-changes starts with any content, and applies each change at once', async () => {
    const daemon = await repositoryWith({ settings, changes });
    await daemon.stop();
    checkOut(daemon, 'agent');

    const open = await testDaemon({ again: daemon.dir, allowChanges: true });
    await work(open, 'A');

    expect(canaryOf(daemon)).toBe(true);
    await rm(join(daemon.dir, 'canary'));
    checkOut(open, 'main');
    await open.until('the change', (_, event) => event?.type === 'config_changed');
    expect(isHeld(open)).toBe(false);
  });
});

describe('SEC-30 a person looks at an agent’s branch with a command', () => {
  test.each([[['check']], [['--dry-run']], [['explain', 'TASK-1']]])(
    '%s does not run the program of the tracker',
    async (command) => {
      const here = place();
      here.workflow();
      here.issue(1, 'One', 'x', 'status: Done');
      await here.baton('--once');
      const text = here.read('WORKFLOW.md');
      const evil = "tracker: { kind: command, provider: { command: 'touch canary' } }";
      here.write('WORKFLOW.md', text.replace(/^tracker:.*\n(?:[ \t].*\n)*/m, `${evil}\n`));

      const { stdout, stderr } = await here.baton(...command);

      expect(stdout + stderr).toContain('changes that nobody has allowed');
      expect(existsSync(join(here.dir, 'canary'))).toBe(false);
      await here.baton('allow', '--yes');
      await here.baton(...command);
      expect(existsSync(join(here.dir, 'canary'))).toBe(true);
    },
  );
});

test('every setting waits for a person, apart from those that only limit, describe or time the work', () => {
  const atOnce = SETTINGS.filter(({ security }) => !security).map(({ key }) => key);

  expect(atOnce.filter((key) => !/(?:_ms|keep_days|max_\w+|min_free_mb)$/.test(key))).toEqual([
    'tracker.terminal_states',
    'agent.on_input_timeout',
    'notify.on',
    'notify.report_at',
    'pricing.currency',
    'pricing.models',
  ]);
});
