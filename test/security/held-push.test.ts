import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Answer } from '../../src/domain/run-signal.js';
import { forms } from '../runner/contain/workbench.js';
import { DIST } from '../support/dist.js';
import { agentCommand, type TestDaemon, testDaemon } from '../support/test-daemon.js';

const run = promisify(execFile);
const SCRIPTS = join(DIST, 'hooks/scripts');

/** A daemon whose only issue ends its run with a change of a CI file. */
async function holding(agent = '', earlier: TestDaemon | null = null) {
  const setup: { remote?: string } = earlier ? { remote: join(earlier.dir, 'remote.git') } : {};
  const daemon = await testDaemon({
    ...(earlier ? { again: earlier.dir, tracker: earlier.tracker } : {}),
    env: { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    settings: `codex: { command: "${agentCommand('obedient')}" }
agent: { max_turns: 1${agent} }
runtime: { env_allow: [GIT_CONFIG_GLOBAL, GIT_CONFIG_NOSYSTEM] }
hooks:
  after_create: BATON_REPO_URL="$BATON_WORKFLOW_DIR/remote.git" bash ${SCRIPTS}/clone-or-update.sh
  before_run: mkdir -p .github/workflows && echo CANARY > .github/workflows/ci.yml && test -f "$BATON_DELIVERY_FILE"
  after_run: bash ${SCRIPTS}/commit-and-push.sh`,
    before: async (dir) => {
      setup.remote = await makeRemote(dir);
    },
  });
  if (!earlier) daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  const pushed = async () => {
    const args = ['--git-dir', setup.remote ?? '', 'show', 'baton/AB-1:.github/workflows/ci.yml'];
    return run('git', args).then(
      ({ stdout }) => stdout,
      () => null,
    );
  };
  const turns = async () =>
    (await readFile(join(daemon.workspaces, 'AB-1', 'received.jsonl'), 'utf8')).split('turn/start').length - 1;
  return { daemon, pushed, turns };
}

async function makeRemote(dir: string): Promise<string> {
  const [seed, remote] = [join(dir, 'seed'), join(dir, 'remote.git')];
  const identity = ['-c', 'user.name=T', '-c', 'user.email=t@example.org'];
  await run('git', ['init', '--quiet', '--initial-branch=main', seed]);
  await writeFile(join(seed, '.gitignore'), 'received.jsonl\n');
  await run('git', [...identity, '-C', seed, 'add', '--all']);
  await run('git', [...identity, '-C', seed, 'commit', '--quiet', '-m', 'Begin']);
  await run('git', ['clone', '--quiet', '--bare', seed, remote]);
  return remote;
}

const openQuestion = ({ state }: TestDaemon) => {
  const status = state.claims['1']?.status;
  if (status?.kind === 'running') return status.run.questions[0];
  return status?.kind === 'parked' ? (status.question ?? undefined) : undefined;
};
const asking = (daemon: TestDaemon) => daemon.until('the question', () => openQuestion(daemon) !== undefined);
const answer = (daemon: TestDaemon, given: Answer) =>
  daemon.dispatch({ type: 'answer_given', issueId: '1', questionId: openQuestion(daemon)?.id ?? '', answer: given });
const exited = (daemon: TestDaemon) => daemon.until('the end of the run', (_, event) => event?.type === 'run_exited');

describe('SEC-32 a push that is held', () => {
  test('is shown with its diff, and a yes pushes it', async () => {
    const { daemon, pushed } = await holding();
    await asking(daemon);

    expect(openQuestion(daemon)).toMatchObject({ kind: 'approval', text: expect.stringContaining('+CANARY') });
    expect(await pushed()).toBeNull();
    answer(daemon, { kind: 'accept' });
    await exited(daemon);

    expect(await pushed()).toBe('CANARY\n');
    expect(daemon.logLines.filter(({ hook }) => hook === 'after_run').map(({ level, msg }) => [level, msg])).toEqual([
      ['info', 'hook finished, but its push waits for a person'],
      ['info', 'hook finished'],
    ]);
  });

  test('is not pushed after a no, and the issue is parked', async () => {
    const { daemon, pushed } = await holding();
    await asking(daemon);

    answer(daemon, { kind: 'decline' });
    await exited(daemon);

    expect(await pushed()).toBeNull();
    expect(daemon.state.claims['1']?.status).toMatchObject({
      kind: 'parked',
      reason: 'input_required',
      question: null,
    });
  });

  test('stays asked without an answer, and a later yes pushes it without an agent', async () => {
    const { daemon, pushed, turns } = await holding(', input_timeout_ms: 1, on_input_timeout: decline');
    await daemon.until('parked', ({ claims }) => claims['1']?.status.kind === 'parked');
    const before = await turns();

    expect(await pushed()).toBeNull();
    answer(daemon, { kind: 'accept' });
    await exited(daemon);

    expect(await pushed()).toBe('CANARY\n');
    expect(await turns()).toBe(before);
  });

  test('survives that its agent has moved the issue to its end', async () => {
    const { daemon, pushed } = await holding();
    await asking(daemon);
    daemon.tracker.put({ id: '1', identifier: 'AB-1', state: 'Done' });
    daemon.dispatch({ type: 'refresh_requested' });
    await daemon.until('the poll', ({ claims }) => claims['1']?.issue.state === 'Done');

    expect(openQuestion(daemon)).toBeDefined();
    answer(daemon, { kind: 'accept' });
    await exited(daemon);

    expect(await pushed()).toBe('CANARY\n');
  });

  test('of a finished issue waits for its answer over a restart, and its workspace goes after the push', async () => {
    const timeout = ', input_timeout_ms: 1';
    const first = await holding(timeout);
    await first.daemon.until('parked', ({ claims }) => claims['1']?.status.kind === 'parked');
    first.daemon.tracker.put({ id: '1', identifier: 'AB-1', state: 'Done' });
    first.daemon.dispatch({ type: 'refresh_requested' });
    await first.daemon.until('the poll', ({ claims }) => claims['1']?.issue.state === 'Done');
    await first.daemon.stop();

    const { daemon, pushed, turns } = await holding(timeout, first.daemon);
    await daemon.until('a poll', ({ poll }) => poll.lastOkAtMs !== null);
    expect(openQuestion(daemon)).toMatchObject({ text: expect.stringContaining('+CANARY') });
    const before = await turns();
    answer(daemon, { kind: 'accept' });
    await exited(daemon);

    expect(await pushed()).toBe('CANARY\n');
    expect(await turns()).toBe(before);
    await daemon.until('the end', ({ claims, removals }) => Object.keys({ ...claims, ...removals }).length === 0);
    expect(existsSync(join(daemon.workspaces, 'AB-1'))).toBe(false);
    expect(daemon.state.finished).toMatchObject([{ identifier: 'AB-1', isTerminal: true }]);
  });

  test('whose workspace is gone starts no agent', async () => {
    const { daemon, pushed } = await holding(', input_timeout_ms: 1');
    await daemon.until('parked', ({ claims }) => claims['1']?.status.kind === 'parked');
    daemon.tracker.put({ id: '1', identifier: 'AB-1', state: 'Done' });
    daemon.dispatch({ type: 'refresh_requested' });
    await daemon.until('the poll', ({ claims }) => claims['1']?.issue.state === 'Done');
    await rm(join(daemon.workspaces, 'AB-1'), { recursive: true });

    answer(daemon, { kind: 'accept' });
    await daemon.until('the end', ({ claims }) => claims['1'] === undefined);

    expect(await pushed()).toBeNull();
    expect(daemon.logLines.filter(({ msg }) => msg === 'turn began')).toHaveLength(1);
    expect(daemon.logLines).toContainEqual(
      expect.objectContaining({ msg: 'the workspace is gone, so its held push cannot be carried out' }),
    );
  });
});

/** The agent of AB-2 looks for the files that the hook of AB-1 has, and replaces what it finds. */
const LOOK = `cd ../..
until test -e given; do sleep 0.05; done
{ cut -d' ' -f2 given; find "\${TMPDIR%/*}" -name '*.json'; } | while read -r file; do
  test -e "$file" && echo "$file" >> found && echo '{"rules":[]}' > "$file"
done
touch looked
`;

test.runIf(forms.includes('pidns'))(
  'SEC-32 the agent of another run neither sees nor changes what a hook gets about its push',
  async () => {
    const daemon = await testDaemon({
      before: (dir) => writeFile(join(dir, 'look.sh'), LOOK),
      settings: `codex: { command: "bash ../../look.sh; false" }
agent: { max_concurrent_agents: 2 }
hooks:
  before_run: |
    test $BATON_ISSUE_IDENTIFIER = AB-1 || exit 0
    cd ../..
    stat -c '%a %n' "$BATON_DELIVERY_FILE" "$BATON_ISSUE_FILE" > files
    sha256sum "$BATON_DELIVERY_FILE" "$BATON_ISSUE_FILE" > sums
    mv files given
    until test -e looked; do sleep 0.05; done
    sha256sum --status --check sums && touch intact
    exit 1`,
    });
    for (const id of ['1', '2']) daemon.tracker.put({ id, identifier: `AB-${id}` });

    await daemon.until(
      'the end of AB-1',
      ({ claims }, event) =>
        event?.type === 'run_exited' &&
        claims['1']?.status.kind !== 'running' &&
        existsSync(join(daemon.dir, 'looked')),
    );

    const given = (await readFile(join(daemon.dir, 'given'), 'utf8')).split('\n').filter((line) => line !== '');
    expect(given).toEqual([expect.stringMatching(/^600 /), expect.stringMatching(/^600 /)]);
    expect(existsSync(join(daemon.dir, 'found'))).toBe(false);
    expect(existsSync(join(daemon.dir, 'intact'))).toBe(true);
    expect(given.filter((line) => existsSync(line.slice(4)))).toEqual([]);
  },
);

test('SEC-31 what a killed daemon has left for hooks is removed at the start', async () => {
  const left = 'workspaces/.baton/hooks/old/delivery.json';
  const daemon = await testDaemon({
    before: async (dir) => {
      await mkdir(join(dir, left, '..'), { recursive: true });
      await writeFile(join(dir, left), '{}');
    },
  });

  expect(existsSync(join(daemon.dir, left))).toBe(false);
});

test('SEC-31 what describes the secrets of the daemon to a hook is gone before the agent starts', async () => {
  const daemon = await testDaemon({
    settings: `codex: { command: "cat ../../given | xargs ls > ../../seen; ls $TMPDIR >> ../../seen; false" }
hooks:
  before_run: test -f "$BATON_DELIVERY_FILE" && echo "$BATON_DELIVERY_FILE" > ../../given`,
  });
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });

  await exited(daemon);

  expect(existsSync(join(daemon.dir, 'given'))).toBe(true);
  expect(await readFile(join(daemon.dir, 'seen'), 'utf8')).not.toContain('delivery.json');
});

test('SEC-32 a report of a held push that an agent wrote is not shown', async () => {
  const hold = JSON.stringify({ digest: 'd', text: 'harmless', isCut: false });
  const daemon = await testDaemon({
    settings: `codex: { command: "${agentCommand('obedient')}" }
agent: { max_turns: 1 }
hooks:
  before_run: echo '${hold}' > "$TMPDIR/held-push.json"
  after_run: 'true'`,
  });
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });

  await exited(daemon);

  expect(daemon.logLines.filter(({ msg }) => msg === 'run asks a person')).toEqual([]);
});
