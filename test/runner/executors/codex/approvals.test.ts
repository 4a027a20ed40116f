import { expect, test } from 'vitest';
import { inputRequestOf } from '../../../../runner/executors/codex/questions.js';
import type { HostTool } from '../../../../src/domain/ports.js';
import type { RunSignal } from '../../../../src/domain/run-signal.js';
import { issue } from '../../../support/builders.js';
import { agent, failureOf, lastMessage, run, start } from './harness.js';

const COMMAND = [
  'item/commandExecution/requestApproval',
  '{"itemId":"i","command":"rm -rf build","cwd":"/w","reason":"clean"}',
];
const FILES = ['item/fileChange/requestApproval', '{"itemId":"item-1"}', 'with-item'];
const RIGHTS = [
  'item/permissions/requestApproval',
  '{"reason":"net","permissions":{"network":{"enabled":true},"fileSystem":null}}',
];
const MCP = [
  'mcpServer/elicitation/request',
  '{"serverName":"files","mode":"form","message":"Allow?","_meta":{"codex_approval_kind":"mcp_tool_call","tool_params":{"path":"a"}},"requestedSchema":{"type":"object","properties":{}}}',
];
const FORM = [
  'mcpServer/elicitation/request',
  '{"serverName":"files","mode":"form","message":"Fill in","_meta":null,"requestedSchema":{"type":"object","properties":{"n":{"type":"integer","title":"Number"},"b":{"type":"boolean"},"c":{"type":"string","enum":["x","y"]}}}}',
];
const INPUT = [
  'item/tool/requestUserInput',
  '{"isBlocking":true,"questions":[{"id":"c","header":"Colour","question":"Which colour?","options":[{"label":"red","description":""}]}]}',
];

const policy = (onApprovalRequest: 'accept' | 'decline' | 'ask') => ({ codex: { onApprovalRequest } });
const asks = (request: readonly string[]) => agent('asks', ...request);

test.each([
  ['a command', COMMAND, { decision: 'accept' }, { decision: 'decline' }],
  ['a file change', FILES, { decision: 'accept' }, { decision: 'decline' }],
  [
    'more rights',
    RIGHTS,
    { permissions: { network: { enabled: true } }, scope: 'turn' },
    { permissions: {}, scope: 'turn' },
  ],
  [
    'an MCP tool',
    MCP,
    { action: 'accept', content: {}, _meta: null },
    { action: 'decline', content: null, _meta: null },
  ],
])(
  'S2-62 S2-63 %s is answered by policy: accept with an event, decline without a stall',
  async (_, request, accept, decline) => {
    const [accepted, declined] = await Promise.all([
      run({ command: asks(request), config: policy('accept') }),
      run({ command: asks(request), config: policy('decline') }),
    ]);

    expect(JSON.parse(lastMessage(accepted.outcome))).toEqual(accept);
    expect(accepted.events('approval_auto_approved')).toMatchObject([{ method: request[0] }]);
    expect(JSON.parse(lastMessage(declined.outcome))).toEqual(decline);
    expect(declined.events('approval_auto_approved')).toEqual([]);
  },
);

test.each([
  ['a command', COMMAND, 'Run a command\nCommand: rm -rf build\nFolder: /w\nReason: clean'],
  ['a file change', FILES, 'Change files\nsrc/a.txt\n+hello'],
  ['an MCP tool', MCP, 'Use a tool of the MCP server files\nAllow?\nInput: {"path":"a"}'],
])('with ask, %s waits for a person, and the question shows the details', async (_, request, text) => {
  const started = start({ command: asks(request), config: policy('ask') });
  const { question } = await started.next('asked');

  started.answer(question.id, { kind: 'accept' });

  const outcome = await started.done;
  expect(question).toMatchObject({ kind: 'approval', text, fields: [] });
  expect(lastMessage(outcome)).toContain('accept');
  expect(started.signals).toContainEqual({ type: 'question_closed', questionId: question.id });
});

test('an answer to another question and a second answer are ignored', async () => {
  const started = start({ command: asks(COMMAND), config: policy('ask') });
  const { question } = await started.next('asked');

  started.answer('q999', { kind: 'accept' });
  started.answer(question.id, { kind: 'decline' });
  started.answer(question.id, { kind: 'accept' });

  expect(JSON.parse(lastMessage(await started.done))).toEqual({ decision: 'decline' });
  expect(started.signals.filter((signal) => signal.type === 'question_closed')).toHaveLength(1);
});

test('an answer to a question of one agent step does not match a question of the next step', async () => {
  const steps = [0, 3].map((index) => start({ command: asks(COMMAND), config: policy('ask'), step: { index } }));
  const ids = (await Promise.all(steps.map((each) => each.next('asked')))).map(({ question }) => question.id);

  for (const [number, each] of steps.entries()) each.answer(ids[number] ?? '', { kind: 'decline' });
  await Promise.all(steps.map((each) => each.done));

  expect(new Set(ids).size).toBe(2);
});

test('a question that the agent withdraws is closed, and nothing is granted', async () => {
  const { outcome, signals } = await run({ command: agent('asks', ...COMMAND, 'withdraw'), config: policy('ask') });

  expect(JSON.parse(lastMessage(outcome))).toEqual({ decision: 'decline' });
  expect(kinds(signals, ['asked', 'question_closed'])).toEqual(['asked', 'question_closed']);
});

test('the end of a turn closes its open questions', async () => {
  const { outcome, signals } = await run({ command: agent('asks', ...COMMAND, 'end-turn'), config: policy('ask') });

  expect(outcome.state).toBe('success');
  expect(kinds(signals, ['asked', 'question_closed'])).toEqual(['asked', 'question_closed']);
});

test('S2-63 without ask, a question ends the run as turn_input_required, with the question', async () => {
  const { outcome, events, received } = await run({ command: asks(INPUT), config: policy('decline') });

  expect(outcome.state).toBe('failed');
  expect(failureOf(outcome)).toMatchObject({
    code: 'turn_input_required',
    question: {
      kind: 'input',
      text: 'Colour\nWhich colour?',
      fields: [{ id: 'c', label: 'Which colour?', options: ['red'] }],
    },
  });
  expect(events('turn_input_required')).toHaveLength(1);
  expect(events('turn_ended_with_error')).toHaveLength(1);
  expect(received().at(-1)?.method).toBe('turn/interrupt');
});

test('a question that does not block stays unanswered, and the turn continues', async () => {
  const { outcome } = await run({
    command: asks([INPUT[0] as string, '{"isBlocking":false,"questions":[]}']),
    config: policy('decline'),
  });

  expect(JSON.parse(lastMessage(outcome))).toEqual({ answers: {} });
});

test('with ask, the text of a person reaches the agent', async () => {
  const started = start({ command: asks(INPUT), config: policy('ask') });
  const { question } = await started.next('asked');

  started.answer(question.id, { kind: 'input', values: { c: 'green', other: 'ignored' } });

  expect(JSON.parse(lastMessage(await started.done))).toEqual({ answers: { c: { answers: ['green'] } } });
});

test('the form of an MCP server is filled in with typed values, or declined', async () => {
  const started = start({ command: asks(FORM), config: policy('ask') });
  const { question } = await started.next('asked');
  started.answer(question.id, { kind: 'input', values: { n: '5', b: 'true', c: 'x', evil: '1' } });
  const declined = await run({ command: asks(FORM), config: policy('accept') });

  expect(question.fields).toEqual([
    { id: 'n', label: 'Number', options: [] },
    { id: 'b', label: 'b', options: ['true', 'false'] },
    { id: 'c', label: 'c', options: ['x', 'y'] },
  ]);
  expect(JSON.parse(lastMessage(await started.done))).toEqual({
    action: 'accept',
    content: { n: 5, b: true, c: 'x' },
    _meta: null,
  });
  expect(JSON.parse(lastMessage(declined.outcome))).toMatchObject({ action: 'decline' });
});

test('a run stopped by the input timeout returns the open question', async () => {
  const started = start({ command: asks(COMMAND), config: policy('ask') });
  const { question } = await started.next('asked');

  started.stop('input_timeout');

  const outcome = await started.done;
  expect(outcome.state).toBe('failed');
  expect(failureOf(outcome)).toMatchObject({ code: 'turn_input_required', question });
  expect(started.signals.filter((signal) => signal.type === 'question_closed')).toEqual([]);
});

test('SEC-16 an unknown request gets an error, and the session continues', async () => {
  const { outcome, received, events } = await run({ command: agent('asks', 'attestation/generate', '{}') });

  expect(outcome.state).toBe('success');
  expect(received().at(-1)).toMatchObject({ id: 0, error: { code: -32601 } });
  expect(events('other_message')).toMatchObject([{ method: 'attestation/generate' }]);
});

const tool = (call: HostTool['call']): HostTool => ({
  name: 'tracker',
  description: '',
  inputSchema: {},
  maxInputChars: 1_000,
  call,
});
const CALL = ['item/tool/call', '{"callId":"c","tool":"tracker","arguments":{"state":"Done"}}'];

test('a host tool acts on the run’s own issue, and a moved issue is reported', async () => {
  const calls: unknown[] = [];
  const { outcome, signals } = await run({
    command: asks(CALL),
    tools: [
      tool(async (input, { issue, runId }) => {
        calls.push([input, issue.identifier, runId]);
        return { success: true, text: 'moved', movedTo: 'Done' };
      }),
    ],
  });

  expect(calls).toEqual([[{ state: 'Done' }, 'AB-1', 'run-1']]);
  expect(JSON.parse(lastMessage(outcome))).toEqual({
    success: true,
    contentItems: [{ type: 'inputText', text: 'moved' }],
  });
  const reported = signals.filter(({ type }) => type === 'host_calls' || type === 'moved_issue');
  expect(reported).toEqual([
    { type: 'host_calls', open: 1 },
    { type: 'moved_issue', state: 'Done' },
    { type: 'host_calls', open: 0 },
  ]);
});

test('a tool call refused by the tracker’s rate limit ends the run after that turn, with the reset time', async () => {
  const { outcome } = await run({
    command: asks(CALL),
    tools: [tool(async () => ({ success: false, text: 'later', limitedUntilMs: 77 }))],
    refreshes: [issue('AB-1')],
  });

  expect(outcome).toMatchObject({ state: 'failed', error: { code: 'tracker_rate_limited', resetAtMs: 77 } });
});

test('a host tool that throws answers the agent and does not end the run', async () => {
  const { outcome } = await run({
    command: asks(CALL),
    tools: [
      tool(async () => {
        throw new Error('no such state');
      }),
    ],
  });

  expect(JSON.parse(lastMessage(outcome))).toMatchObject({
    success: false,
    contentItems: [{ text: 'tracker failed: no such state' }],
  });
});

test('SEC-18 a call whose input is too long for its tool is refused before its texts are searched', async () => {
  const calls: unknown[] = [];
  const { outcome } = await run({
    command: asks(['item/tool/call', JSON.stringify({ tool: 'tracker', arguments: { comment: '\n'.repeat(500) } })]),
    tools: [
      tool(async (input) => {
        calls.push(input);
        return { success: true, text: 'written' };
      }),
    ],
  });

  expect(calls).toEqual([]);
  expect(JSON.parse(lastMessage(outcome))).toMatchObject({
    success: false,
    contentItems: [{ text: 'The input has 1014 characters, and tracker takes 1000.' }],
  });
});

test('S2-64 a call of an undeclared tool fails with an event, and the session continues', async () => {
  const { outcome, events } = await run({ command: asks(CALL) });

  expect(JSON.parse(lastMessage(outcome))).toMatchObject({ success: false });
  expect(events('unsupported_tool_call')).toMatchObject([{ data: { tool: 'tracker' } }]);
});

function kinds(signals: readonly RunSignal[], types: readonly RunSignal['type'][]): string[] {
  return signals.map((signal) => signal.type).filter((type) => types.includes(type));
}

test('the text of a question explains its options, and people choose by label', () => {
  const options = [{ label: 'red', description: 'hot' }, { label: 'blue', description: '' }, { label: 'green' }, 5];
  const asked = inputRequestOf('item/tool/requestUserInput', { questions: [{ id: 'c', question: 'Which?', options }] });

  expect(asked?.draft.text).toBe('Which?\nred: hot');
  expect(asked?.draft.fields[0]?.options).toEqual(['red', 'blue', 'green']);
});
