import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { threadOf } from './baton-process.js';
import { textOf, toolOutputs } from './mock-model.js';
import { moveIssue, run, say } from './mock-replies.js';
import { type TestBed, testBed } from './test-bed.js';
import { until } from './until.js';

const MAIN = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));

/** The built command, as a person calls it beside the running daemon. */
function baton({ dir, env }: TestBed, ...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [MAIN, ...args, '--state-dir', join(dir, 'state')], { cwd: dir, env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })));
}

const ESCALATED = { sandbox_permissions: 'require_escalated', justification: 'May I write outside?' };

test('a command that codex asks about runs once a person has accepted it over the socket', async () => {
  const bed = await testBed({ codex: 'on_approval_request: ask' });
  const { board, model, dir, start } = bed;
  board.add('TASK-1', 'Ask for more');
  const outside = join(dir, 'outside-of-the-workspace');
  model.script('TASK-1', run(`touch '${outside}'`, ESCALATED), moveIssue('Done'), say('I was allowed to.'));

  const daemon = start();
  await daemon.line('run asks a person');
  const asked = await baton(bed, 'answer');
  const isThereBefore = existsSync(outside);
  const answered = await baton(bed, 'answer', 'TASK-1', '--accept');
  const ended = await daemon.line('run ended', { issue_identifier: 'TASK-1' });
  await daemon.stop();

  expect(asked.output).toContain(`touch '${outside}'`);
  expect(asked.output).toContain('May I write outside?');
  expect(answered.code).toBe(0);
  expect(isThereBefore).toBe(false);
  expect(existsSync(outside)).toBe(true);
  expect(ended).toMatchObject({ outcome: 'success', turns: 1 });
  expect(board.state('TASK-1')).toBe('Done');
});

test('an answer after kill -9 and a restart continues on the thread of the question', async () => {
  const bed = await testBed({ codex: 'on_approval_request: ask' });
  const { board, model, dir, start } = bed;
  board.add('TASK-1', 'Ask for more');
  const outside = join(dir, 'outside-of-the-workspace');
  model.script('TASK-1', run(`touch '${outside}'`, ESCALATED), moveIssue('Done'), say('I found another way.'));

  const first = start();
  await first.line('run asks a person');
  await until('the question in the store', 15_000, async () =>
    (await baton(bed, 'state', 'export')).output.includes('May I write outside?') ? true : undefined,
  );
  await first.kill();
  const second = start();
  await second.line('issue parked', { reason: 'input_required' });
  const answered = await baton(bed, 'answer', 'TASK-1', '--decline');
  const ended = await second.line('run ended', { outcome: 'success' });
  await second.stop();

  expect(answered.code).toBe(0);
  expect(ended.issue_identifier).toBe('TASK-1');
  expect(second.lines('turn began').map(threadOf)).toEqual(first.lines('turn began').map(threadOf));
  const heard = model.requests[1]?.input.map(textOf).join('\n');
  expect(heard).toContain('Work on TASK-1: Ask for more');
  expect(heard).toMatch(/You asked a person:[\s\S]*May I write outside\?[\s\S]*The answer: no\./);
  expect(existsSync(outside)).toBe(false);
  expect(board.state('TASK-1')).toBe('Done');
});

test('a message of a person reaches codex in its running turn', async () => {
  const bed = await testBed();
  const { board, model, dir, start } = bed;
  board.add('TASK-1', 'Listen');
  model.script('TASK-1', run('mkfifo gate && cat gate'), moveIssue('Done'), say('I have listened.'));

  const daemon = start();
  const gate = join(dir, 'workspaces', 'TASK-1', 'gate');
  await until('the command at its gate', 30_000, () => (existsSync(gate) ? true : undefined));
  const said = await baton(bed, 'message', 'TASK-1', 'Mind the gap between', 'train and platform.');
  await writeFile(gate, 'opened');
  const ended = await daemon.line('run ended', { issue_identifier: 'TASK-1' });
  await daemon.stop();

  expect(said.code).toBe(0);
  expect(ended).toMatchObject({ outcome: 'success', turns: 1 });
  expect(model.requests[0]?.input.map(textOf).join('\n')).not.toContain('Mind the gap');
  expect(model.requests[1]?.input.map(textOf).join('\n')).toContain('Mind the gap between train and platform.');
  expect(toolOutputs(model.requests[1])).toEqual([expect.stringContaining('opened')]);
  expect(bed.transcripts()).toMatch(/"kind":"message","data":\{"text":"Mind the gap/);
});
