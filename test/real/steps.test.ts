import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { textOf } from './mock-model.js';
import { moveIssue, run, say } from './mock-replies.js';
import { testBed } from './test-bed.js';

test('steps with the real Codex: two agents on separate threads, a skill between them, a program at the end', async () => {
  const { board, model, dir, start } = await testBed({
    settings: `executors:
  journal: { command: sh, args: [-c, 'cat > ../../told.json'], timeout_seconds: 20 }
steps:
  - { id: work, kind: agent, backend: cli, output_to: work }
  - { id: count, kind: capability, type: skill, name: count, params: { file: made.txt }, timeout_s: 60 }
  - id: review
    kind: agent
    backend: cli
    prompt: "Review {{ issue.identifier }}: the file has {{ steps.count.output.bytes }} bytes, and its author said {{ state.work.last_message }}"
  - id: note
    kind: external
    executor: journal
    input: { task_id: "\${issue.id}", bytes: "\${steps.count.output.bytes}", said: "\${steps.review.output.last_message}" }`,
  });
  const skill = join(dir, '.baton/capabilities/skill/count');
  mkdirSync(skill, { recursive: true });
  writeFileSync(
    join(skill, 'capability.yaml'),
    'name: count\ntype: skill\ninputs: [{ name: file, type: string, required: true }]\n',
  );
  writeFileSync(join(skill, 'run.sh'), 'printf \'{"bytes": %d}\' "$(wc -c < "$INPUT_FILE")"\n');
  board.add('TASK-1', 'Make a file');
  model.script('TASK-1', run('printf 12345 > made.txt'), say('five bytes'), moveIssue('Done'), say('it is good'));

  const baton = start();
  const ended = await baton.line('run ended', { issue_identifier: 'TASK-1' });
  await baton.line('workspace removed', { issue_identifier: 'TASK-1' });
  await baton.stop();

  expect(ended).toMatchObject({ outcome: 'success', turns: 2 });
  expect(baton.lines('run started')).toHaveLength(1);
  expect(baton.lines('step finished').map(({ step }) => step)).toEqual(['work', 'count', 'review', 'note']);
  expect(JSON.parse(readFileSync(join(dir, 'told.json'), 'utf8'))).toMatchObject({
    schemaVersion: 1,
    input: { task_id: 'TASK-1', bytes: 5, said: 'it is good' },
    task: { id: 'TASK-1' },
  });
  const review = model.requests[2]?.input.map(textOf).join('\n') ?? '';
  expect(review).toContain('the file has 5 bytes, and its author said five bytes');
  // It has a separate thread, without the prompt of the first agent.
  expect(review).not.toContain('Call update_issue with the state Done');
  expect(board.state('TASK-1')).toBe('Done');
});
