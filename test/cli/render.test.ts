import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { render } from '../../src/cli/render.js';
import { MemoryTracker } from '../support/memory-tracker.js';
import { memoryRegistry, world } from './cli-fixture.js';

const WORKFLOW = `---
tracker: { kind: memory }
workspace: { root: ../ws }
---
{{ issue.identifier }}: {{ issue.title }} [{{ attempt | default: "first" }}]
{{ run.number }} {{ run.reason }} {{ run.workspace }} {{ workflow.path }}
`;

function board() {
  const tracker = new MemoryTracker();
  tracker.put({ id: '1', identifier: 'AB-1', title: 'Literal {{ x }}' });
  tracker.put({ id: '2', identifier: 'AB-12' });
  tracker.put({ id: '3', identifier: 'AB-30', state: 'Done' });
  return tracker;
}

describe('baton render', () => {
  test.each(['AB-1', 'ab-1', '1'])('%s: the prompt of the first run, and nothing else', async (issue) => {
    const io = world();
    io.write('WORKFLOW.md', WORKFLOW);
    const tracker = board();

    const code = await render({ workflowPath: 'WORKFLOW.md', issue }, io, memoryRegistry(tracker));

    const base = join(io.dir, '..');
    expect({ code, err: io.err() }).toEqual({ code: 0, err: '' });
    expect(io.out()).toBe(
      `AB-1: Literal {{ x }} [first]\n1 first ${join(base, 'ws', 'AB-1')} ${join(io.dir, 'WORKFLOW.md')}\n`,
    );
    expect(readdirSync(base).sort()).toEqual(['bin', 'home', 'project']);
    expect(tracker.isClosed).toBe(true);
  });

  test('the prompt may name inputs', async () => {
    const io = world();
    const head =
      'tracker: { kind: memory }\ninputs: { topic: "on ${issue.identifier}" }\nsteps: [{ id: a, kind: agent }]';
    io.write('WORKFLOW.md', `---\n${head}\n---\nWork {{ inputs.topic }}, step {{ run.step_index }}\n`);

    expect(await render({ workflowPath: 'WORKFLOW.md', issue: 'AB-1' }, io, memoryRegistry(board()))).toBe(0);
    expect(io.out()).toBe('Work on AB-1, step 0\n');
  });

  test('an issue in another state is found by its id', async () => {
    const io = world();
    io.write('WORKFLOW.md', WORKFLOW);

    expect(await render({ workflowPath: 'WORKFLOW.md', issue: '3' }, io, memoryRegistry(board()))).toBe(0);
    expect(io.out()).toContain('AB-30');
  });

  test('an unknown issue: exit 1 with the nearest identifiers, and no prompt', async () => {
    const io = world();
    io.write('WORKFLOW.md', WORKFLOW);

    const code = await render({ workflowPath: 'WORKFLOW.md', issue: 'AB1' }, io, memoryRegistry(board()));

    expect({ code, out: io.out() }).toEqual({ code: 1, out: '' });
    expect(io.err()).toMatch(/no issue AB1 .*did you mean AB-1/);
  });

  test('on a terminal the text of an issue cannot move the cursor', async () => {
    const io = world({ isTTY: true });
    io.write('WORKFLOW.md', WORKFLOW);
    const tracker = new MemoryTracker();
    tracker.put({ id: '1', title: 'x\u001b[2Jy' });

    await render({ workflowPath: 'WORKFLOW.md', issue: '1' }, io, memoryRegistry(tracker));

    expect(io.out()).toContain('x\\u001b[2Jy');
  });

  test.each([
    ['a faulty file', '---\ntracker: 1\n---\n', 2],
    ['a faulty prompt', `${WORKFLOW}{{ issue.nope }}`, 1],
    ['a prompt that does not parse', `${WORKFLOW}{% if %}`, 2],
  ])('%s is reported on stderr', async (_, text, code) => {
    const io = world();
    io.write('WORKFLOW.md', text);

    expect(await render({ workflowPath: 'WORKFLOW.md', issue: 'AB-1' }, io, memoryRegistry(board()))).toBe(code);
    expect(io.out()).toBe('');
    expect(io.err()).toMatch(/^baton: \w+: WORKFLOW\.md:\d+:\d+ /);
  });

  test('a tracker that is down is exit 1', async () => {
    const io = world();
    io.write('WORKFLOW.md', WORKFLOW);
    const tracker = board();
    tracker.fail();

    expect(await render({ workflowPath: 'WORKFLOW.md', issue: 'AB-1' }, io, memoryRegistry(tracker))).toBe(1);
  });
});
