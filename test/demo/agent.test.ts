import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { sentenceOf } from '../../src/text/run-sentences.js';
import { failureOf, lastMessage, run, tempFolder } from '../runner/executors/codex/harness.js';
import { issue } from '../support/builders.js';
import { board, compiledAgent, gitFolder, toolFor } from './demo-agent.js';

/** The demo agent, driven by the client that drives the real codex. */
const agent = compiledAgent();
const go = (prompt: string, options: Partial<Parameters<typeof run>[0]> = {}) =>
  run({ command: agent.command, step: { prompt }, tools: board().tools, ...options });
const text = (folder: string, name: string) => readFileSync(join(folder, name), 'utf8');

test('the agent follows the bullet lines, reports every step and moves its issue', async () => {
  const { tracker, tools } = board();

  const { outcome, workspace, events, signals } = await go(
    'Please:\n\n- write `a/greeting.txt`: Hello, world\n- run `cat a/greeting.txt` to see it\n- and be nice',
    { tools },
  );

  expect(lastMessage(outcome)).toBe('All done: wrote `a/greeting.txt`; ran `cat a/greeting.txt`.');
  expect(text(workspace, 'a/greeting.txt')).toBe('Hello, world\n');
  expect(tracker.get('AB-1').state).toBe('Done');
  expect(tracker.comments[0]?.comment).toContain('- wrote `a/greeting.txt`');
  expect(signals).toContainEqual({ type: 'moved_issue', state: 'Done' });
  const sentences = events().map((event) => sentenceOf(event)?.replace(/ \(\d.*s\)$/, ''));
  expect(sentences.filter((sentence) => sentence)).toEqual([
    'turn 1 began',
    'is thinking',
    'thought: Reading what to do: 2 steps in this turn',
    'added `a/greeting.txt`, +1 −0',
    'is running `cat a/greeting.txt`',
    'ran `cat a/greeting.txt`, exit 0',
    'called update_issue (state: Done): The demo agent did this:',
    'said: All done: wrote `a/greeting.txt`; ran `cat a/greeting.txt`.',
    'the turn is complete',
  ]);
});

test.each([
  ['New, In Progress, Resolved, Feedback, Closed, Rejected', 'Resolved'],
  ['open, closed', 'closed'],
  ['Ready, Shipped', 'Shipped'],
])('of the states %s the agent uses %s for finished work', async (states, finished) => {
  const { tools, asked } = toolFor(states);

  await go('- write `a.txt`: 1', { tools });

  expect(asked).toMatchObject([{ state: finished }]);
});

test('a command runs, and its output, exit code and duration are reported', async () => {
  const { events } = await go('- run `echo out; echo err >&2; echo "$PWD" > where.txt`');

  const item = events('notification')
    .map(
      ({ data }) => data?.item as { type?: string; exitCode?: number; aggregatedOutput?: string; durationMs?: number },
    )
    .find((each) => each?.type === 'commandExecution' && each.exitCode === 0);
  expect(item?.aggregatedOutput?.split('\n').sort()).toEqual(['', 'err', 'out']);
  expect(item?.durationMs).toBeGreaterThan(0);
});

test('token totals grow until the end', async () => {
  const { signals } = await go('- write `a`: 1\n- write `b`: 2');

  const totals = signals.flatMap((signal) => (signal.type === 'usage' ? [signal.totals] : []));
  // Totals that follow each other within a second are one signal.
  expect(totals.length).toBeGreaterThanOrEqual(2);
  for (const [index, next] of totals.slice(1).entries()) {
    expect(next.input).toBeGreaterThan(totals[index]?.input ?? 0);
    expect(next.output).toBeGreaterThan(totals[index]?.output ?? 0);
  }
});

test('an issue without bullets gets a note with its title', async () => {
  const { workspace } = await go('Do something, will you?');

  expect(text(workspace, 'NOTES.md')).toBe('# AB-1: Make it so\n');
});

test('the agent fails once and continues in the next run, and git ignores its notes', async () => {
  const folder = await gitFolder();
  onTestFinished(folder.remove);
  const prompt = '- write `a.txt`: 1\n- fail once (the demo agent only)\n- write `b.txt`: 2';

  const first = await go(prompt, { workspace: folder.path });
  const second = await go(prompt, { workspace: folder.path });

  expect(failureOf(first.outcome)).toMatchObject({
    code: 'turn_failed',
    message: expect.stringContaining('fails once'),
  });
  expect(lastMessage(second.outcome)).toContain('`a.txt` needed no change; wrote `b.txt`');
  expect(await folder.changes()).toEqual(['?? a.txt', '?? b.txt']);
});

test('an issue over two turns is moved in the second turn only', async () => {
  const { tracker, tools } = board();
  const seen: string[] = [];
  const watched = tools.map((tool) => ({
    ...tool,
    call: (...args: Parameters<typeof tool.call>) => {
      seen.push(readdirSync(workspace).sort().join(' '));
      return tool.call(...args);
    },
  }));
  const workspace = tempFolder();

  const { outcome } = await go('- write `a.txt`: 1\n- write `b.txt`: 2\n- write `c.txt`: 3\n- take two turns (demo)', {
    tools: watched,
    workspace,
    refreshes: [issue('AB-1'), null],
  });

  expect(outcome).toMatchObject({ state: 'success', meta: { turns: 2 } });
  expect(seen).toEqual(['.demo a.txt b.txt c.txt']);
  expect(tracker.get('AB-1').state).toBe('Done');
});

test('a thread can be resumed by another process, with its steps, tools and token totals', async () => {
  const prompt = '- write `a.txt`: 1\n- write `b.txt`: 2\n- take two turns';
  const { tracker, tools } = board();
  const first = await go(prompt, { tools });
  expect(existsSync(join(first.workspace, 'b.txt'))).toBe(false);
  const threadId = first.outcome.meta.threadId ?? '';

  const second = await go('unused', {
    tools,
    workspace: first.workspace,
    step: { resume: { threadId, answer: null } },
  });

  expect(second.outcome.meta.threadId).toBe(threadId);
  expect(text(first.workspace, 'b.txt')).toBe('2\n');
  expect(tracker.get('AB-1').state).toBe('Done');
  const inputs = (each: typeof first) =>
    each.signals.flatMap((signal) => (signal.type === 'usage' ? [signal.totals.input] : []));
  expect(inputs(second)[0]).toBeGreaterThan(inputs(first).at(-1) ?? 0);
});

test('an unknown thread cannot be resumed', async () => {
  const threadId = '01234567-0123-0123-0123-0123456789ab';

  const { outcome, events } = await go('- write `a.txt`: 1', {
    step: { prompt: '- write `a.txt`: 1', resume: { threadId, answer: null } },
  });

  expect(outcome.state).toBe('success');
  expect(events('other_message')[0]?.data?.message).toContain(`no rollout found for thread id ${threadId}`);
});

test.each([
  '../escape.txt',
  '/tmp/baton-demo-escape.txt',
  '.git/hooks/pre-commit',
  '.demo/x',
  'link/x',
  'file-link',
  '.',
])('writing to %s is refused and fails the turn', async (path) => {
  const outside = tempFolder();
  const workspace = join(outside, 'ws');
  mkdirSync(join(workspace, '.git/hooks'), { recursive: true });
  symlinkSync(outside, join(workspace, 'link'));
  writeFileSync(join(outside, 'kept'), 'as it was');
  symlinkSync(join(outside, 'kept'), join(workspace, 'file-link'));

  const { outcome } = await go(`- write \`${path}\`: gotcha`, { workspace });

  expect(failureOf(outcome).message).toBe(`${path} is not a path for a file in this workspace: nothing was written`);
  expect(readdirSync(outside).sort()).toEqual(['kept', 'ws']);
  expect(text(outside, 'kept')).toBe('as it was');
  expect(readdirSync(join(workspace, '.git/hooks'))).toEqual([]);
});

test('a failed command fails the turn', async () => {
  const { tracker, tools } = board();

  const { outcome } = await go('- run `exit 3`\n- write `a.txt`: 1', { tools });

  expect(failureOf(outcome)).toMatchObject({ code: 'turn_failed', message: '`exit 3` ended with exit code 3' });
  expect(tracker.get('AB-1').state).toBe('Todo');
});

test('an issue that cannot be moved fails the turn, and a missing tool is only reported', async () => {
  const { tracker, tools } = board();
  tracker.remove('AB-1');

  const refused = await go('- write `a.txt`: 1', { tools });
  const toolless = await go('- write `a.txt`: 1', { tools: [] });

  expect(failureOf(refused.outcome).message).toContain('the issue could not be moved: issue AB-1 is gone');
  expect(toolless.outcome.state).toBe('success');
});

test('the agent imports only node, its own folder, the domain and text, so that it starts fast', () => {
  const folder = fileURLToPath(new URL('../../src/demo/', import.meta.url));
  const sources = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));

  const imports = sources.flatMap((source) =>
    Array.from(source.matchAll(/\bfrom '([^']+)'/g), ([, name]) => name ?? ''),
  );
  expect(imports.filter((name) => !/^(?:node:|\.\/|\.\.\/(?:domain|text)\/)/.test(name))).toEqual([]);
});
