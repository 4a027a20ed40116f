import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { explainRules } from '../../src/api/explain.js';
import { explain } from '../../src/cli/explain.js';
import { issue as anIssue } from '../support/builders.js';
import { Core } from '../support/core.js';
import type { Place } from './command.js';
import { daemonIn, issue, project, told } from './working-daemon.js';

const explained = (here: Place, name: string, json = false) =>
  told(here, (io) => explain({ issue: name, json, target: {} }, io));

describe('baton explain', () => {
  const board = project('hangs', ['on'], 'agent: { max_concurrent_agents: 1 }', afterAll);
  beforeAll(async () => {
    issue(board, 1);
    issue(board, 2, 'Two', '[]');
    issue(board, 3, 'Three', '[baton]', 'Draft');
    board.issue(4, '"\\e[2J\\u202Etitle"', 'x', 'status: "Draft"\nlabels: [baton]');
    const daemon = await daemonIn(board);
    await daemon.said('run started');
  });

  test('every rule of a running issue passes and is printed', async () => {
    const { code, stdout } = await board.baton('explain', 'TASK-1');

    expect(code).toBe(0);
    expect(stdout).toMatch(/^TASK-1 {2}Title 1 \(To Do\)\nIt is running\.\n\n✓ complete /);
    expect(stdout).not.toContain('✗');
    expect(stdout.match(/^✓/gm)).toHaveLength(
      explainRules(new Core().state, new Core().now, anIssue('A'), null).length,
    );
  });

  test('shows first why an issue does not run, with the remedy, in one column', async () => {
    const { stdout } = await explained(board, 'TASK-2');

    const lines = stdout.split('\n');
    expect(lines.slice(1, 7)).toEqual([
      'It does not run: 2 rules prevent it.',
      '',
      '✗ required_labels    it lacks the label "baton"',
      '                     → add the label `baton` in the tracker',
      '✗ global_slot        no free slot: agent.max_concurrent_agents is 1, all taken by TASK-1',
      '                     → wait, or raise agent.max_concurrent_agents',
    ]);
    expect(lines[8]).toBe('✓ complete           it has an id, an identifier, a title and a state');
  });

  test('explains an issue in an inactive state, which the daemon does not read', async () => {
    const { code, stdout } = await explained(board, 'TASK-3');

    expect(code).toBe(0);
    expect(stdout).toMatch(/^TASK-3 {2}Three \(Draft\)\nIt does not run: \S+ rules? prevents? it/);
    expect(stdout).toContain('✗ active_state       its state "Draft" is not among "To Do", "In Progress"');
  });

  test('text of other users cannot move the cursor, with or without a daemon', async () => {
    const alone = project('hangs');
    alone.issue(4, '"\\e[2J\\u202Etitle"', 'x', 'status: "Draft"\nlabels: [baton]');

    for (const { stdout } of [await explained(alone, 'TASK-4'), await explained(board, 'TASK-4')]) {
      expect(stdout).toContain('[2J');
      for (const control of ['\u001b', '\u202e']) expect(stdout).not.toContain(control);
    }
  });

  test('--json prints the same rules', async () => {
    const alone = project('hangs', ['on']);
    issue(alone, 2, 'Two', '[]');

    const here = JSON.parse((await explained(alone, 'TASK-2', true)).stdout);
    const asked = JSON.parse((await board.baton('explain', 'TASK-2', '--json')).stdout);

    expect(here).toMatchObject({ issue_identifier: 'TASK-2', state: 'To Do', status: 'unknown', daemon: false });
    expect(asked).toMatchObject({ status: 'ineligible', daemon: true });
    for (const { rules } of [here, asked])
      expect(rules).toContainEqual({
        rule: 'required_labels',
        pass: false,
        why: 'it lacks the label "baton"',
        action: 'add the label `baton` in the tracker',
        params: { missing: ['baton'] },
      });
  });

  test('without a daemon reads the tracker, and states that first', async () => {
    const here = project('hangs');
    issue(here, 1, 'One', '[]');
    issue(here, 2);

    const kept = await here.baton('explain', 'TASK-1');
    const free = await explained(here, 'TASK-2');

    expect(kept.code).toBe(0);
    expect(kept.stdout).toMatch(/^No daemon is running\. This is what one would find now:\n\nTASK-1 {2}One/);
    expect(kept.stdout).toContain('✗ required_labels');
    expect(free.stdout).toContain('\nNo rule would prevent it from running.\n');
  });

  test('an unreadable workflow is a configuration error', async () => {
    const here = project('hangs');
    here.write('WORKFLOW.md', '---\nagent: 7\n---\n');

    expect(await here.baton('explain', 'TASK-1')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^baton: invalid_workflow_config/),
    });
  });
});
