import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { MemoryTracker } from '../support/memory-tracker.js';
import { agentCommand, type TestDaemon, type TestDaemonOptions, testDaemon } from '../support/test-daemon.js';

/** Written in two parts, so that this file has no finding itself. */
const TOKEN = `ghp_${'q7Zr2LxV9sTn4Kd8WmB3YcHp6GfJ5uAeR1oX'}`;
const MODEL_KEY = 'canary-model-key-0001';
const LOGIN_TOKEN = 'canary.codex.login.0002';

/** A daemon whose agent comments with `update_issue`, once for each text. */
async function daemonThatComments(
  comments: readonly string[],
  options: Partial<TestDaemonOptions> & { policy?: string; inputTimeoutMs?: number } = {},
) {
  const calls = comments.map((comment) => JSON.stringify({ tool: 'update_issue', arguments: { comment } }));
  const { policy = 'decline', inputTimeoutMs = 20_000, ...rest } = options;
  const tracker = new MemoryTracker();
  const daemon = await testDaemon({
    tracker,
    settings: `codex: { command: ${JSON.stringify(agentCommand('calls-tools', ...calls))}, on_approval_request: ${policy} }
agent: { max_turns: 1, input_timeout_ms: ${inputTimeoutMs} }`,
    ...rest,
  });
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  return daemon;
}

const questionOf = ({ state }: TestDaemon) => {
  const status = state.claims['1']?.status;
  if (status?.kind === 'running') return status.run.questions[0];
  return status?.kind === 'parked' ? (status.question ?? undefined) : undefined;
};

const asked = (daemon: TestDaemon) => daemon.until('a question', () => questionOf(daemon) !== undefined);
const ended = (daemon: TestDaemon) => daemon.until('the end of the run', (_, event) => event?.type === 'run_exited');
const answer = (daemon: TestDaemon, kind: 'accept' | 'decline') =>
  daemon.dispatch({ type: 'answer_given', issueId: '1', questionId: questionOf(daemon)?.id ?? '', answer: { kind } });
const comments = ({ tracker }: TestDaemon) => tracker.comments.map(({ comment }) => comment);
const received = ({ workspaces }: TestDaemon) => readFile(join(workspaces, 'AB-1', 'received.jsonl'), 'utf8');

describe('SEC-31 a comment with a secret waits for a person', () => {
  test.each(['decline', 'accept', 'ask'])('under on_approval_request: %s', async (policy) => {
    const daemon = await daemonThatComments([`done\nit is ${TOKEN}`], { policy });
    await asked(daemon);

    const question = questionOf(daemon);
    expect(comments(daemon)).toEqual([]);
    expect(question).toMatchObject({ kind: 'approval' });
    expect(question?.text).toContain('a GitHub token (line 2)');
    expect(question?.text).not.toContain(TOKEN.slice(8));
    answer(daemon, 'accept');
    await ended(daemon);

    expect(comments(daemon)).toEqual([`done\nit is ${TOKEN}`]);
  });

  test('and is not written when that person declines; the agent learns what the text contains', async () => {
    const daemon = await daemonThatComments([TOKEN, 'harmless']);
    await asked(daemon);

    answer(daemon, 'decline');
    await ended(daemon);

    expect(comments(daemon)).toEqual(['harmless']);
    expect(await received(daemon)).toMatch(/"success":false.*GitHub token/);
  });

  test.each([
    ['the key of the model in the environment of the daemon', MODEL_KEY],
    ['the token of the tracker in base64', Buffer.from('see canary-tracker-token-3').toString('base64')],
    ['a token of the login of Codex', LOGIN_TOKEN],
  ])('%s', async (_, text) => {
    const daemon = await daemonThatComments([`x ${text} y`], {
      env: { OPENAI_API_KEY: MODEL_KEY, BOARD_TOKEN: 'canary-tracker-token-3' },
      provider: '{ api_key: $BOARD_TOKEN }',
      async before(dir) {
        await mkdir(join(dir, 'home/.codex'));
        const login = { tokens: { access_token: LOGIN_TOKEN, account_id: 'not-a-secret-id' } };
        await writeFile(join(dir, 'home/.codex/auth.json'), JSON.stringify(login));
      },
    });
    await asked(daemon);

    expect(questionOf(daemon)?.text).toContain('secret that Baton knows');
    answer(daemon, 'decline');
    await ended(daemon);
    expect(comments(daemon)).toEqual([]);
  });

  test('an approval that comes too late counts for exactly that comment', async () => {
    const daemon = await daemonThatComments([TOKEN, `another ${TOKEN}`], { inputTimeoutMs: 50 });
    const parkedAt = (run: number) =>
      daemon.until(
        'parked',
        (state) => state.claims['1']?.status.kind === 'parked' && state.records['1']?.runs === run,
      );
    await parkedAt(1);
    expect(comments(daemon)).toEqual([]);

    answer(daemon, 'accept');
    await parkedAt(2);

    expect(comments(daemon)).toEqual([TOKEN]);
    expect(questionOf(daemon)?.text).toContain('SHA-256');
  });
});
