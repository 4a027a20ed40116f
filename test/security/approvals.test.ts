import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { approvalOf, inputRequestOf } from '../../runner/executors/codex/questions.js';
import { decideAction } from '../../src/api/actions.js';
import { requestOf } from '../../src/cli/answer.js';
import { agentCommand, type TestDaemon, testDaemon } from '../support/test-daemon.js';

const HIDDEN = 'canary-hidden-7f3a';
const LONG = 'a'.repeat(61_000);

const COMMAND = 'item/commandExecution/requestApproval';
const FILES = 'item/fileChange/requestApproval';
const RIGHTS = 'item/permissions/requestApproval';
const ELICITATION = 'mcpServer/elicitation/request';

describe('SEC-36 a question shows everything that its approval grants, or is cut', () => {
  const change = (n: number) => ({ path: `f${n}`, diff: '+x' });
  const tool = (input: unknown) => ({ _meta: { codex_approval_kind: 'mcp_tool_call', tool_params: input } });

  test.each<[string, string, object, readonly unknown[]]>([
    ['the end of a long command', COMMAND, { command: `${LONG}; ${HIDDEN}` }, []],
    ['the end of a command of 30,000 characters', COMMAND, { command: `${LONG.slice(0, 30_000)}; ${HIDDEN}` }, []],
    ['words of a command that are no text', COMMAND, { command: ['sh', { x: HIDDEN }] }, []],
    ['further rights of a command', COMMAND, { command: 'ls', additionalPermissions: { network: HIDDEN } }, []],
    ['the last of many files', FILES, {}, [...Array.from({ length: 60 }, (_, n) => change(n)), { path: HIDDEN }]],
    ['where a file is moved', FILES, {}, [{ path: 'a', kind: { type: 'update', move_path: HIDDEN }, diff: '' }]],
    ['the last of many rights', RIGHTS, { permissions: { paths: [...Array(60).fill('/a'), HIDDEN] } }, []],
    ['a long right', RIGHTS, { permissions: { path: `/${LONG.slice(0, 3_000)}/${HIDDEN}` } }, []],
    ['a deep right', RIGHTS, { permissions: { a: { b: { c: { d: { e: { f: { g: HIDDEN } } } } } } } }, []],
    ['the end of what a tool gets', ELICITATION, tool({ code: `${LONG.slice(0, 3_000)}${HIDDEN}` }), []],
  ])('%s', (_, method, params, changes) => {
    const draft = approvalOf(method, params as never, changes)?.draft;

    expect(draft?.isCut === true || draft?.text.includes(HIDDEN)).toBe(true);
  });

  test('words of a command are told apart', () => {
    const text = (command: readonly string[]) => approvalOf(COMMAND, { command }, [])?.draft.text;

    expect(text(['rm', 'a b'])).not.toBe(text(['rm', 'a', 'b']));
  });

  test('changes that the agent did not announce are not approved', () => {
    expect(approvalOf(FILES, { itemId: 'unknown' }, [])?.draft.isCut).toBe(true);
  });

  test('a form with more fields than are shown is cut', () => {
    const properties = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`f${n}`, { type: 'string' }]));

    expect(inputRequestOf(ELICITATION, { requestedSchema: { properties } })?.draft.isCut).toBe(true);
  });

  test('a short question is whole', () => {
    expect(approvalOf(COMMAND, { command: 'ls' }, [])?.draft).not.toHaveProperty('isCut');
  });
});

describe('SEC-36 a question that was cut can only be declined', () => {
  const asksFor = (command: string) => agentCommand('asks', COMMAND, JSON.stringify({ command }));
  const openQuestion = ({ state }: TestDaemon) => {
    const status = state.claims['1']?.status;
    if (status?.kind === 'running') return status.run.questions[0];
    return status?.kind === 'parked' ? (status.question ?? undefined) : undefined;
  };
  const daemonThatAsks = async (command: string, agent = '') => {
    const daemon = await testDaemon({
      settings: `codex: { command: ${JSON.stringify(asksFor(command))}, on_approval_request: ask }\nagent: { max_turns: 1${agent} }`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    return daemon;
  };
  const received = async ({ workspaces }: TestDaemon) => readFile(join(workspaces, 'AB-1', 'received.jsonl'), 'utf8');

  test('while its run waits, and its transcript has the whole text', async () => {
    const daemon = await daemonThatAsks(`${LONG}; ${HIDDEN}`);
    await daemon.until('a question', () => openQuestion(daemon) !== undefined);
    const questionId = openQuestion(daemon)?.id ?? '';
    const runId = Object.keys(daemon.state.runs)[0];
    const post = (decision: 'accept' | 'decline') =>
      decideAction(daemon.state, 'AB-1', { kind: 'answer', request: { question_id: questionId, decision } });

    expect(post('accept')).toMatchObject({ status: 409, code: 'question_cut' });
    daemon.dispatch({ type: 'answer_given', issueId: '1', questionId, answer: { kind: 'accept' } });
    await daemon.until('the refusal', () => daemon.logLines.some(({ code }) => code === 'question_cut'));
    expect(openQuestion(daemon)?.id).toBe(questionId);
    expect(post('decline')).toHaveProperty('event');
    daemon.dispatch({ type: 'answer_given', issueId: '1', questionId, answer: { kind: 'decline' } });
    await daemon.until('the end of the run', (_, event) => event?.type === 'run_exited');

    expect(await received(daemon)).not.toContain('"decision":"accept"');
    await daemon.stop();
    expect(await readFile(join(daemon.stateDir, 'transcripts', `${runId}.jsonl`), 'utf8')).toContain(HIDDEN);
  });

  test('after its issue was parked', async () => {
    const daemon = await daemonThatAsks(`${LONG}; ${HIDDEN}`, ', input_timeout_ms: 50');
    await daemon.until('parked', (state) => state.claims['1']?.status.kind === 'parked');

    const { id = '', isCut } = openQuestion(daemon) ?? {};
    const request = { question_id: id, decision: 'accept' } as const;

    expect(isCut).toBe(true);
    expect(decideAction(daemon.state, 'AB-1', { kind: 'answer', request })).toMatchObject({ code: 'question_cut' });
  });

  test('on the command line', () => {
    const question = { id: 'q1', kind: 'approval' as const, text: 'Run a…', fields: [], is_cut: true as const };
    const given = { text: undefined, accept: false, decline: false, fields: [] };

    expect(requestOf({ ...given, accept: true }, question)).toHaveProperty('problem');
    expect(requestOf({ ...given, text: 'yes' }, question)).toHaveProperty('problem');
    expect(requestOf({ ...given, decline: true }, question)).toMatchObject({ decision: 'decline' });
    expect(requestOf({ ...given, text: 'no' }, question)).toMatchObject({ decision: 'decline' });
  });
});
