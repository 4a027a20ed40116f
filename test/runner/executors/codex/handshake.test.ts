import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCodexExecutor } from '../../../../runner/executors/codex/codex-executor.js';
import type { Question } from '../../../../src/domain/run-signal.js';
import { issue } from '../../../support/builders.js';
import { agent, failureOf, run, start, tempFolder } from './harness.js';

const methods = (received: readonly { readonly method?: string }[]) => received.map((message) => message.method);

test('S2-43 the client sends initialize, initialized, thread/start, thread/name/set, turn/start in this order', async () => {
  const { outcome, received, workspace } = await run({ command: agent('obedient') });

  expect(outcome.state).toBe('success');
  expect(methods(received())).toEqual(['initialize', 'initialized', 'thread/start', 'thread/name/set', 'turn/start']);
  const [initialize, , thread, name, turn] = received();
  expect(initialize?.params).toMatchObject({
    clientInfo: { name: 'baton', version: '1.2.3' },
    capabilities: { experimentalApi: true },
  });
  expect(thread?.params).toMatchObject({ cwd: workspace, approvalPolicy: 'never', permissions: 'baton-workspace' });
  expect(thread?.params).not.toHaveProperty('sandbox');
  expect(name?.params).toEqual({ threadId: 'thread-1', name: 'AB-1: Make it so' });
  expect(turn?.params).toMatchObject({
    threadId: 'thread-1',
    cwd: workspace,
    input: [{ type: 'text', text: 'the whole prompt' }],
  });
  expect(turn?.params).not.toHaveProperty('sandboxPolicy');
});

test('messages carry no jsonrpc member, and ids start at 0', async () => {
  const { received } = await run({ command: agent('obedient') });

  expect(received().every((message) => !('jsonrpc' in message))).toBe(true);
  expect(received()[0]?.id).toBe(0);
});

test('S2-44 S2-45 S2-46 session_id consists of the thread id and the turn id', async () => {
  const { outcome, events, signals } = await run({ command: agent('obedient') });

  expect(events('session_started')).toMatchObject([
    { threadId: 'thread-1', turnId: 'turn-1', sessionId: 'thread-1-turn-1', pid: expect.any(Number) },
  ]);
  expect(signals).toContainEqual({ type: 'session', threadId: 'thread-1', turnId: 'turn-1', turn: 1 });
  expect(outcome).toMatchObject({
    output: {
      session_id: 'thread-1-turn-1',
      thread_id: 'thread-1',
      last_message: 'done 1',
      stop_reason: 'issue_moved',
    },
    meta: { threadId: 'thread-1', turns: 1 },
  });
});

test('S2-52 a thread that cannot be named is reported, and the run continues', async () => {
  const { outcome, events } = await run({ command: agent('refuses', 'thread/name/set') });

  expect(outcome.state).toBe('success');
  expect(events('other_message')[0]?.data).toMatchObject({ warning: 'the thread could not be named' });
});

test('host tools are declared when the thread starts', async () => {
  const tool = {
    name: 'tracker',
    description: 'Talks to the tracker',
    inputSchema: { type: 'object' },
    maxInputChars: 100,
    call: async () => ({ success: true, text: '' }),
  };

  const { received } = await run({ command: agent('obedient'), tools: [tool] });

  expect(received()[2]?.params).toMatchObject({
    dynamicTools: [
      { type: 'function', name: 'tracker', description: 'Talks to the tracker', inputSchema: { type: 'object' } },
    ],
  });
});

test('a resumed thread gets the continuation prompt', async () => {
  const { received } = await run({
    command: agent('obedient'),
    step: { resume: { threadId: 'thread-1', answer: null } },
  });

  expect(methods(received())).toEqual(['initialize', 'initialized', 'thread/resume', 'thread/name/set', 'turn/start']);
  expect(received()[2]?.params).toMatchObject({ threadId: 'thread-1', excludeTurns: true });
  expect(received()[4]?.params).toMatchObject({ input: [{ text: 'go on with AB-1, turn 1' }] });
});

test('an answer given while no process ran is the first text of the resumed thread, with its question', async () => {
  const question: Question = {
    id: 'q1',
    kind: 'input',
    text: 'Which colour?',
    fields: [{ id: 'c', label: 'Colour', options: [] }],
  };

  const { received } = await run({
    command: agent('obedient'),
    step: { resume: { threadId: 'thread-1', answer: { question, answer: { kind: 'input', values: { c: 'green' } } } } },
  });

  expect(received()[4]?.params).toMatchObject({
    input: [{ text: 'You asked a person:\nWhich colour?\n\nThe answer: \nColour: green' }],
  });
});

test('a thread that cannot be resumed is replaced by a new one with the whole prompt and the answer, with a warning', async () => {
  const question: Question = { id: 'q1', kind: 'approval', text: 'Run rm?', fields: [] };

  const { outcome, received, events } = await run({
    command: agent('refuses', 'thread/resume'),
    step: { resume: { threadId: 'old', answer: { question, answer: { kind: 'decline' } } } },
  });

  expect(outcome.state).toBe('success');
  expect(methods(received()).slice(2, 4)).toEqual(['thread/resume', 'thread/start']);
  const { input } = (received().at(-1)?.params ?? {}) as unknown as { input: [{ text: string }] };
  expect(input[0].text).toMatch(/^the whole prompt\n\nYou asked a person:\nRun rm\?\n\nThe answer: no\./);
  expect(events('other_message')[0]?.data).toMatchObject({ threadId: 'old' });
});

test('S2-70 a command that does not exist is codex_not_found', async () => {
  const { outcome, events } = await run({ command: 'no-such-command-anywhere app-server' });

  expect(failureOf(outcome)).toMatchObject({ code: 'codex_not_found' });
  expect(failureOf(outcome).message).toContain('no-such-command-anywhere');
  expect(events('startup_failed')).toMatchObject([{ data: { code: 'codex_not_found' } }]);
});

test('S2-40 a workspace path through a link is invalid_workspace_cwd, and nothing is started', async () => {
  const folder = tempFolder();
  mkdirSync(join(folder, 'elsewhere'));
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'link'));

  const { outcome, events } = await run({ command: agent('obedient'), workspace: join(folder, 'link') });

  expect(failureOf(outcome).code).toBe('invalid_workspace_cwd');
  expect(events('startup_failed')[0]?.pid).toBeNull();
});

test('S2-40 a thread opened in another folder is invalid_workspace_cwd', async () => {
  const { outcome, received } = await run({ command: agent('elsewhere') });

  expect(failureOf(outcome).code).toBe('invalid_workspace_cwd');
  expect(methods(received())).not.toContain('turn/start');
});

test('S2-65 a request without a reply within read_timeout_ms is response_timeout', async () => {
  const started = start({ command: agent('silent', 'thread/start'), config: { codex: { readTimeoutMs: 5_000 } } });
  await started.event('notification', 'fake/ready');

  started.clock.advance(5_000);

  expect(failureOf(await started.done).code).toBe('response_timeout');
  expect(started.events('startup_failed')).toHaveLength(1);
});

test('an error reply to turn/start is response_error', async () => {
  const { outcome, events } = await run({ command: agent('refuses', 'turn/start') });

  expect(failureOf(outcome)).toMatchObject({ code: 'response_error' });
  expect(failureOf(outcome).message).toContain('no such luck');
  expect(events('startup_failed')).toHaveLength(1);
});

test('an error reply to a later turn/start ends that turn and is not a failed startup', async () => {
  const { outcome, events } = await run({ command: agent('refuses', 'turn/start', 'later'), refreshes: [issue()] });

  expect(failureOf(outcome).code).toBe('response_error');
  expect(events('startup_failed')).toEqual([]);
  expect(events('turn_ended_with_error')).toHaveLength(1);
});

test('only a few agents start at a time, and the very first one starts alone', async () => {
  const executor = createCodexExecutor({ version: '1' });
  let starting = 0;
  let most = 0;
  let launches = 0;
  let launchesBeforeFirstAnswer = 0;
  const runs = Array.from({ length: 8 }, () =>
    start({
      command: agent('obedient'),
      executor,
      wrap: (launched) => {
        launches += 1;
        starting += 1;
        most = Math.max(most, starting);
        launched.stdout.once('data', () => {
          launchesBeforeFirstAnswer ||= launches;
          starting -= 1;
        });
        return launched;
      },
    }),
  );

  const outcomes = await Promise.all(runs.map((each) => each.done));

  expect(outcomes.map((outcome) => outcome.state)).toEqual(Array(8).fill('success'));
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(4);
  expect(launchesBeforeFirstAnswer).toBe(1);
});

test('a run stopped while it waits for its start starts no process', async () => {
  const executor = createCodexExecutor({ version: '1' });
  const blockers = Array.from({ length: 4 }, () => start({ command: agent('silent', 'initialize'), executor }));
  let launched = false;
  const waiting = start({
    command: agent('obedient'),
    executor,
    wrap: (process) => {
      launched = true;
      return process;
    },
  });

  waiting.stop('operator');

  expect(failureOf(await waiting.done).code).toBe('STOPPED_BY_OPERATOR');
  for (const blocker of blockers) blocker.stop('shutdown');
  await Promise.all(blockers.map((each) => each.done));
  expect(launched).toBe(false);
});

test('S1-18 a cli step with a session is refused at run time too, and nothing is started', async () => {
  let launched = false;
  const refused = start({
    command: agent('obedient'),
    step: { session: 'rev' },
    wrap: (process) => {
      launched = true;
      return process;
    },
  });

  expect(failureOf(await refused.done)).toMatchObject({
    code: 'JobValidation',
    message: expect.stringContaining('"rev"'),
  });
  expect(launched).toBe(false);
});
