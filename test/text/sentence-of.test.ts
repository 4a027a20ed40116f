import { describe, expect, test } from 'vitest';
import { boundData } from '../../runner/executors/codex/reporter.js';
import { cancelled, failure, success } from '../../src/domain/outcome.js';
import type { RuntimeEvent, RuntimeEventType } from '../../src/domain/run-signal.js';
import { describeOutcome, isPassing, sentenceOf } from '../../src/text/run-sentences.js';

const SESSION = { threadId: '0199a213-81c0-7800-8aa1-bbab2a035a53', turnId: '0199a213-81c0-7800-8aa1-000000000001' };

/** As the client reports it: data goes through `boundData`. */
function event(type: RuntimeEventType, data: object = {}, method?: string): RuntimeEvent {
  const base = { type, timestamp: '2026-11-16T00:00:00.000Z', pid: 1, data: boundData(data) };
  return method === undefined ? base : { ...base, method };
}

const notice = (method: string, data: object = {}) => event('notification', { ...SESSION, ...data }, method);
const begun = (item: object) => notice('item/started', { item, startedAtMs: 1 });
const ended = (item: object) => notice('item/completed', { item, completedAtMs: 2 });

const command = (fields: object) => ({
  type: 'commandExecution',
  id: 'call_1',
  command: "/bin/bash -lc 'npm test'",
  cwd: '/w',
  processId: '51',
  source: 'unifiedExecStartup',
  status: 'completed',
  commandActions: [{ type: 'unknown', command: 'npm test' }],
  aggregatedOutput: 'ok\n',
  exitCode: 0,
  durationMs: 2_340,
  ...fields,
});

const patch = (...changes: object[]) => ({ type: 'fileChange', id: 'call_2', changes, status: 'completed' });
const update = (path: string, diff: string) => ({ path, kind: { type: 'update', move_path: null }, diff });
const added = (path: string, diff: string) => ({ path, kind: { type: 'add' }, diff });

const tool = (fields: object) => ({
  type: 'dynamicToolCall',
  id: 'call_3',
  namespace: null,
  tool: 'update_issue',
  arguments: { state: 'Done', comment: 'A long text about everything that was done in this run.' },
  status: 'completed',
  contentItems: [{ type: 'inputText', text: 'The issue is now in "Done".' }],
  success: true,
  durationMs: 4,
  ...fields,
});

const message = (text: string) => ({ type: 'agentMessage', id: 'msg_1', text, phase: 'final_answer' });
const reasoning = (summary: unknown[]) => ({ type: 'reasoning', id: 'rs_1', summary, content: [] });
const mcp = { type: 'mcpToolCall', server: 'github', tool: 'search', arguments: { q: 'x' } };
const approve = 'item/commandExecution/requestApproval';

describe('an event of an agent reads', () => {
  const told: [string, RuntimeEvent][] = [
    ['turn 2 began', event('session_started', { turn: 2 })],
    ['is thinking', begun(reasoning([]))],
    ['thought: Running the tests', ended(reasoning(['**Running the tests**']))],
    ['is running `npm test`', begun(command({ status: 'inProgress', exitCode: null, durationMs: null }))],
    ['ran `npm test`, exit 0 (2.3 s)', ended(command({}))],
    ['ran `npm test`, exit 1 (12 ms)', ended(command({ status: 'failed', exitCode: 1, durationMs: 12 }))],
    ['ran `npm test`, exit 0 (2 min 5 s)', ended(command({ durationMs: 125_400 }))],
    ['ran `ls`, exit 0 (1 h 1 min)', ended(command({ command: 'ls', durationMs: 3_660_000 }))],
    [`ran \`echo "it's"\`, exit 0`, ended(command({ command: `bash -lc "echo \\"it's\\""`, durationMs: null }))],
    ["ran `echo it's`, exit 0", ended(command({ command: "bash -c 'echo it'\\''s'", durationMs: null }))],
    ['was not allowed to run `npm test`', ended(command({ status: 'declined', exitCode: null }))],
    ['added `src/new.ts`, +2 −0', ended(patch(added('/w/src/new.ts', 'a\nb\n')))],
    ['edited `w/b.ts`, +1 −2', ended(patch(update('/w/b.ts', '@@ -1,2 +1 @@\n-a\n-b\n+c\n')))],
    ['edited `w/b.sql`, +0 −1', ended(patch(update('/w/b.sql', '--- a\n+++ b\n@@ -1 +0,0 @@\n--- a comment\n')))],
    ['edited 2 files, +3 −1', ended(patch(added('/w/a', 'a\nb'), update('/w/b', '@@ -1 +1 @@\n-x\n+y\n')))],
    ['added `w/big.ts`', ended(patch(added('/w/big.ts', 'line\n'.repeat(1_000))))],
    ['added 60 files', ended(patch(...Array.from({ length: 60 }, (_, n) => added(`/w/${n}`, 'x\n'))))],
    ['could not edit files', ended({ ...patch(added('/w/a', 'a')), status: 'failed' })],
    ['said: All done. See below.', ended(message('All done.\n\nSee below.'))],
    ['called update_issue (state: Done): A long text about everything that was done in this run.', ended(tool({}))],
    [
      'called update_issue: Fixed the parser and its tests:',
      ended(tool({ arguments: { comment: '\nFixed the parser and its tests:\n\n- a\n- b\n' } })),
    ],
    [`called update_issue: ${'x'.repeat(159)}…`, ended(tool({ arguments: { comment: `${'x'.repeat(200)}\nmore` } }))],
    ['called update_issue (comment: Done.)', ended(tool({ arguments: { comment: 'Done.' } }))],
    [
      'called update_issue (state: Shipped), which failed: There is no state Shipped.',
      ended(
        tool({
          arguments: { state: 'Shipped' },
          status: 'failed',
          success: false,
          contentItems: [{ type: 'inputText', text: 'There is no state Shipped.' }],
        }),
      ),
    ],
    ['called github.search (q: x)', ended({ ...mcp, status: 'completed', error: null })],
    [
      'called github.search (q: x), which failed: no token',
      ended({ ...mcp, status: 'failed', error: { message: 'no token' } }),
    ],
    ['searched the web for `node 20`', ended({ type: 'webSearch', id: 'ws_1', query: 'node 20' })],
    [
      'plan: 1 of 3 steps done, now: Write the test',
      notice('turn/plan/updated', {
        explanation: null,
        plan: [
          { step: 'Look', status: 'completed' },
          { step: 'Write the test', status: 'inProgress' },
          { step: 'Fix it', status: 'pending' },
        ],
      }),
    ],
    [
      'has trouble and tries again: Reconnecting... 2/5',
      notice('error', { error: { message: 'Reconnecting... 2/5', codexErrorInfo: null }, willRetry: true }),
    ],
    [
      'reports an error: You are out of credits',
      notice('error', { error: { message: 'You are out of credits' }, willRetry: false }),
    ],
    ['warns: the disk is slow', notice('warning', { message: 'the disk is slow' })],
    [
      'asks to run `rm -rf build`: outside of the sandbox (declined)',
      notice(approve, {
        command: "/bin/bash -lc 'rm -rf build'",
        reason: 'outside of the sandbox',
        answered: 'decline',
      }),
    ],
    ['asks to run `make` (waits for a person)', notice(approve, { command: 'make', answered: 'ask' })],
    ['asks to run `make` (accepted)', event('approval_auto_approved', { command: 'make' }, approve)],
    [
      'asks: Which database? (waits for a person)',
      notice('item/tool/requestUserInput', { questions: [{ id: 'a', question: 'Which database?' }] }),
    ],
    ['asks: Which database? (no person may be asked)', event('turn_input_required', { question: 'Which database?' })],
    ['called a tool that does not exist: fly', event('unsupported_tool_call', { tool: 'fly' })],
    [
      'the turn failed: no access (agent_unauthorized)',
      event('turn_failed', { code: 'agent_unauthorized', message: 'no access' }),
    ],
    [
      'the turn ended: it is gone (port_exit)',
      event('turn_ended_with_error', { code: 'port_exit', message: 'it is gone' }),
    ],
    ['the turn was cancelled: the daemon shuts down', event('turn_cancelled', { message: 'the daemon shuts down' })],
    [
      'could not start: not found (codex_not_found)',
      event('startup_failed', { code: 'codex_not_found', message: 'not found' }),
    ],
    ['the turn is complete', event('turn_completed')],
    [
      'warning: the thread could not be named: no',
      event('other_message', { warning: 'the thread could not be named', message: 'no' }),
    ],
  ];

  test.each(told)('%s', (sentence, given) => {
    expect(sentenceOf(given)).toBe(sentence);
  });
});

test.each([
  notice('item/agentMessage/delta', { itemId: 'msg_1', delta: 'Hel' }),
  notice('item/reasoning/summaryTextDelta', { itemId: 'rs_1', delta: 'x', summaryIndex: 0 }),
  notice('item/commandExecution/outputDelta', { itemId: 'call_1', delta: 'x' }),
  notice('thread/tokenUsage/updated', { tokenUsage: { total: {}, last: {} } }),
  notice('account/rateLimits/updated', { rateLimits: {} }),
  notice('turn/started', { turn: { id: 't', status: 'inProgress' } }),
  notice('turn/completed', { turn: { id: 't', status: 'completed' } }),
  notice('thread/status/changed', { status: { type: 'idle' } }),
  notice('item/tool/call', { tool: 'update_issue', arguments: {} }),
  begun(message('')),
  ended(message('')),
  ended(reasoning([])),
  ended({ type: 'userMessage', id: 'u', content: [{ type: 'text', text: 'the whole prompt' }] }),
  event('malformed', { line: 'x' }),
])('noise has no sentence: $method $type', (given) => {
  expect(sentenceOf(given)).toBeNull();
});

test('only what has yet to end is passing', () => {
  expect([begun(command({})), begun(reasoning([]))].map(isPassing)).toEqual([true, true]);
  expect([ended(command({})), event('turn_completed')].map(isPassing)).toEqual([false, false]);
});

describe('the end of a run reads', () => {
  test.each([
    ['finished after 2 turns', success({ stop_reason: 'issue_moved' }, { turns: 2 })],
    ['finished after 1 turn', success(null, { turns: 1 })],
    ['used up its turns after 20 turns', success({ stop_reason: 'max_turns' }, { turns: 20 })],
    ['failed: it broke (turn_failed)', failure('turn_failed', 'it\nbroke')],
    ['took too long: 5 ms (turn_timeout)', failure('turn_timeout', '5 ms', { state: 'timeout' })],
    ['was stopped: the daemon shuts down (INTERRUPTED)', cancelled('shutdown')],
  ])('%s', (sentence, outcome) => {
    expect(describeOutcome(outcome)).toBe(sentence);
  });
});

test.each([
  ['/w/TASK-1/NOTES.md', '/w/TASK-1', 'NOTES.md'],
  ['/w/TASK-1/src/a.ts', '/w/TASK-1', 'src/a.ts'],
  ['/w/TASK-1/src/deep/a.ts', '/w/TASK-1/', 'deep/a.ts'],
  ['/w/TASK-10/a.ts', '/w/TASK-1', 'TASK-10/a.ts'],
  ['/w/TASK-1/NOTES.md', undefined, 'TASK-1/NOTES.md'],
])('the file %s of the workspace %s is shown as %s', (path, workspace, name) => {
  const change = ended(patch(added(path, 'a\n')));

  expect(sentenceOf(workspace === undefined ? change : { ...change, workspace })).toBe(`added \`${name}\`, +1 −0`);
});
