import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentCommand, type TestDaemon, testDaemon } from '../support/test-daemon.js';

const linesOf = async (file: string) =>
  (await readFile(file, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

const received = (daemon: TestDaemon) => linesOf(join(daemon.workspaces, 'AB-1', 'received.jsonl'));

const textsOf = async (daemon: TestDaemon) =>
  (await received(daemon))
    .filter(({ method }) => method === 'turn/start')
    .map(({ params }) => params.input[0].text as string);

/** The entries about people in the transcript of the first run. */
async function toldOf(daemon: TestDaemon, runId: string) {
  await daemon.stop();
  const lines = await linesOf(join(daemon.stateDir, 'transcripts', `${runId}.jsonl`));
  return lines
    .filter(({ kind }) => ['asked', 'answered', 'message', 'unheard'].includes(kind))
    .map(({ kind, data }) => ({ ...data, kind }));
}

const runIdOf = ({ state }: TestDaemon) => Object.keys(state.runs)[0] ?? '';

/** A hook that waits until the test releases it. */
const WAITING_HOOK = "hooks: { before_run: 'until [ -e ../../go ]; do sleep 0.02; done' }";

test('a message to a run whose agent has not started is part of the first prompt', async () => {
  const daemon = await testDaemon({
    settings: `${WAITING_HOOK}\ncodex: { command: "${agentCommand('obedient')}" }\nagent: { max_turns: 1 }`,
  });
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  await daemon.until('preparing', (state) => state.claims['1']?.live.run?.stage === 'started');
  const runId = runIdOf(daemon);

  daemon.dispatch({ type: 'message_given', issueId: '1', text: 'mind the gap' });
  await writeFile(join(daemon.dir, 'go'), '');
  await daemon.until('the end of the run', (_, event) => event?.type === 'run_exited');

  expect((await textsOf(daemon))[0]).toBe('Work on AB-1\n\nA message from a person:\nmind the gap');
  expect(daemon.logLines).toContainEqual(
    expect.objectContaining({ level: 'info', msg: 'a person sent a message', run_id: runId }),
  );
  expect(JSON.stringify(daemon.logLines)).not.toContain('mind the gap');
  expect(await toldOf(daemon, runId)).toEqual([{ kind: 'message', text: 'mind the gap' }]);
});

test('a message between two agent steps of a run reaches the second agent', async () => {
  const daemon = await testDaemon({
    settings: `codex: { command: "${agentCommand('obedient')}" }
agent: { max_turns: 1 }
runtime: { backend: cli }
executors: { wait: { command: sh, args: [-c, 'cat > /dev/null; until [ -e ../../go ]; do sleep 0.02; done'] } }
steps:
  - { id: first, kind: agent, prompt: First }
  - { id: between, kind: external, executor: wait }
  - { id: second, kind: agent, prompt: Second }`,
  });
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  await daemon.until('the program between', (state) => state.claims['1']?.live.run?.step?.id === 'between');

  daemon.dispatch({ type: 'message_given', issueId: '1', text: 'mind the gap' });
  await writeFile(join(daemon.dir, 'go'), '');
  await daemon.until('the end of the run', (_, event) => event?.type === 'run_exited');

  expect(await textsOf(daemon)).toEqual(['First', 'Second\n\nA message from a person:\nmind the gap']);
});

test('a message that was not delivered before the run ended is reported in log and transcript', async () => {
  const daemon = await testDaemon({
    settings: `hooks: { before_run: 'until [ -e ../../go ]; do sleep 0.02; done; exit 1' }\ncodex: { command: "false" }`,
  });
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  await daemon.until('preparing', (state) => state.claims['1']?.live.run?.stage === 'started');
  const runId = runIdOf(daemon);

  daemon.dispatch({ type: 'message_given', issueId: '1', text: 'mind the gap' });
  await writeFile(join(daemon.dir, 'go'), '');
  await daemon.until('the end of the run', (_, event) => event?.type === 'run_exited');

  expect(daemon.logLines).toContainEqual(
    expect.objectContaining({
      msg: 'the run ended before its agent read the messages of a person',
      run_id: runId,
      messages: 1,
    }),
  );
  expect(JSON.stringify(daemon.logLines)).not.toContain('mind the gap');
  expect(await toldOf(daemon, runId)).toEqual([
    { kind: 'message', text: 'mind the gap' },
    { kind: 'unheard', text: 'mind the gap' },
  ]);
});

test('a message steers the current turn of an agent, and is not repeated', async () => {
  const daemon = await testDaemon({ settings: `codex: { command: "${agentCommand('hangs', 'on')}" }` });
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  await daemon.until('a turn', (state) => state.claims['1']?.live.run?.session != null);
  const runId = runIdOf(daemon);

  daemon.dispatch({ type: 'message_given', issueId: '1', text: 'mind the gap' });
  await daemon.until('steered', () => JSON.stringify(daemon.logLines).includes('fake/steered'));
  daemon.dispatch({ type: 'stop_requested', issueId: '1' });
  await daemon.until('the end of the run', (_, event) => event?.type === 'run_exited');

  const steers = (await received(daemon)).filter(({ method }) => method === 'turn/steer');
  expect(steers.map(({ params }) => params.input[0].text)).toEqual(['mind the gap']);
  expect(await toldOf(daemon, runId)).toEqual([{ kind: 'message', text: 'mind the gap' }]);
});

const ASKS = agentCommand('asks', 'item/commandExecution/requestApproval', '{"command":"ls"}');

test('question and answer are in the transcript, and the agent receives the answer', async () => {
  const daemon = await testDaemon({
    settings: `codex: { command: ${JSON.stringify(ASKS)}, on_approval_request: ask }\nagent: { max_turns: 1 }`,
  });
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  await daemon.until('a question', (state) => JSON.stringify(state.claims).includes('Command: ls'));
  const runId = runIdOf(daemon);
  const questionId = `${runId}-q1`;

  daemon.dispatch({ type: 'answer_given', issueId: '1', questionId, answer: { kind: 'accept' } });
  await daemon.until('the end of the run', (_, event) => event?.type === 'run_exited');

  expect((await received(daemon)).at(-1)).toMatchObject({ id: 0, result: { decision: 'accept' } });
  expect(daemon.logLines).toContainEqual(
    expect.objectContaining({ level: 'info', msg: 'a person answered', question_id: questionId, decision: 'accept' }),
  );
  expect(await toldOf(daemon, runId)).toEqual([
    { kind: 'asked', question_id: questionId, text: 'Run a command\nCommand: ls', fields: [] },
    {
      kind: 'answered',
      question_id: questionId,
      question: 'Run a command\nCommand: ls',
      by: 'person',
      decision: 'accept',
      values: {},
      text: 'yes',
    },
  ]);
});

test('on_input_timeout: decline answers no, notes it in the transcript, and the run continues', async () => {
  const daemon = await testDaemon({
    settings: `codex: { command: ${JSON.stringify(ASKS)}, on_approval_request: ask }
agent: { max_turns: 1, input_timeout_ms: 50, on_input_timeout: decline }`,
  });
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  await daemon.until('a question', (state) => JSON.stringify(state.claims).includes('Command: ls'));
  const runId = runIdOf(daemon);

  await daemon.until('a good end', (_, event) => event?.type === 'run_exited' && event.outcome.state === 'success');

  expect((await received(daemon)).find(({ result }) => result?.decision)).toMatchObject({
    result: { decision: 'decline' },
  });
  expect((await toldOf(daemon, runId))[1]).toMatchObject({ by: 'timeout', decision: 'decline' });
});

test('the prompts in the transcripts are what the agent received, also after a late answer', async () => {
  const daemon = await testDaemon({
    settings: `codex: { command: ${JSON.stringify(ASKS)}, on_approval_request: ask }
agent: { max_turns: 2, input_timeout_ms: 50 }`,
  });
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  const parked = () => {
    const status = daemon.state.claims['1']?.status;
    return status?.kind === 'parked' ? status.question : null;
  };
  await daemon.until('parked with its question', () => parked() !== null);

  daemon.dispatch({
    ...{ type: 'answer_given', issueId: '1', questionId: parked()?.id ?? '' },
    answer: { kind: 'decline' },
  });
  await daemon.until('parked again', (state) => state.records['1']?.runs === 2 && parked() !== null);
  const sent = await textsOf(daemon);
  await daemon.stop();

  const folder = join(daemon.stateDir, 'transcripts');
  const files = await Promise.all((await readdir(folder)).map((name) => linesOf(join(folder, name))));
  const prompts = files.sort((a, b) => (a[0].time < b[0].time ? -1 : 1)).flat();
  expect(prompts.filter(({ kind }) => kind === 'prompt').map(({ data }) => data)).toEqual(sent);
  expect(sent[1]).toMatch(/^You asked a person:\n[\s\S]*The answer: no/);
});
