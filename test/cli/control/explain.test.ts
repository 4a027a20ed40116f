import { describe, expect, test } from 'vitest';
import { RULE_WORDS } from '../../../src/cli/control/rule-words.js';
import { explainRules } from '../../../src/status/explain.js';
import { issue as anIssue } from '../../support/builders.js';
import { Core } from '../../support/core.js';
import { daemonIn, issue, project } from './working-daemon.js';

describe('baton explain', () => {
  test('of an issue that runs: nothing keeps it, and every rule is told', async () => {
    const here = project('hangs', ['on']);
    issue(here, 1);
    const daemon = await daemonIn(here);
    await daemon.said('run started');

    const { code, stdout } = await here.baton('explain', 'TASK-1');

    expect(code).toBe(0);
    expect(stdout).toMatch(/^TASK-1 {2}Title 1 \(To Do\)\nIt is running: nothing keeps it\.\n\n✓ complete /);
    expect(stdout).not.toContain('✗');
    expect(stdout.match(/^✓/gm)).toHaveLength(Object.keys(RULE_WORDS).length);
  });

  test('of an issue that does not run: what keeps it first, with what to do, in one column', async () => {
    const here = project('hangs', ['on'], 'agent: { max_concurrent_agents: 1 }');
    issue(here, 1);
    issue(here, 2, 'Two', '[]');
    const daemon = await daemonIn(here);
    await daemon.said('run started');

    const { stdout } = await here.baton('explain', 'TASK-2');

    const lines = stdout.split('\n');
    expect(lines.slice(1, 7)).toEqual([
      'It does not run: 2 rules keep it.',
      '',
      '✗ required_labels    it lacks the label "baton"',
      '                     → add the label `baton` in the tracker',
      '✗ global_slot        no free slot: agent.max_concurrent_agents is 1, and all are taken (TASK-1)',
      '                     → wait, or raise agent.max_concurrent_agents',
    ]);
    expect(lines[8]).toBe('✓ complete           it has an id, an identifier, a title and a state');
  });

  test('of an issue in a state that is not worked on, which no daemon looks at', async () => {
    const here = project('hangs');
    issue(here, 1, 'One', '[baton]', 'Draft');
    await daemonIn(here);

    const { code, stdout } = await here.baton('explain', 'TASK-1');

    expect(code).toBe(0);
    expect(stdout).toMatch(/^TASK-1 {2}One \(Draft\)\nIt does not run: one rule keeps it/);
    expect(stdout).toContain('✗ active_state       its state "Draft" is not among "To Do", "In Progress"');
  });

  test('without a daemon looks at the tracker, and says so first', async () => {
    const here = project('hangs');
    issue(here, 1, 'One', '[]');
    issue(here, 2);

    const kept = await here.baton('explain', 'TASK-1');
    const free = await here.baton('explain', 'TASK-2');

    expect(kept.code).toBe(0);
    expect(kept.stdout).toMatch(/^No daemon is running\. This is what one would find now:\n\nTASK-1 {2}One/);
    expect(kept.stdout).toContain('✗ required_labels');
    expect(free.stdout).toContain('\nNothing would keep it.\n');
  });

  test('--json tells the same to scripts', async () => {
    const here = project('hangs');
    issue(here, 1, 'One', '[]');

    const alone = JSON.parse((await here.baton('explain', 'TASK-1', '--json')).stdout);
    const daemon = await daemonIn(here);
    await daemon.said('nothing to start');
    const asked = JSON.parse((await here.baton('explain', 'TASK-1', '--json')).stdout);

    expect(alone).toMatchObject({ issue_identifier: 'TASK-1', state: 'To Do', status: 'unknown', daemon: false });
    expect(asked).toMatchObject({ status: 'ineligible', daemon: true, rules: alone.rules });
    expect(asked.rules).toContainEqual({
      rule: 'required_labels',
      pass: false,
      why: 'it lacks the label "baton"',
      action: 'add the label `baton` in the tracker',
    });
  });

  test('what others wrote cannot move the cursor, with or without a daemon', async () => {
    const here = project('hangs');
    here.issue(1, '"\\e[2J\\u202Etitle"', 'x', 'status: "Draft"\nlabels: [baton]');

    const alone = await here.baton('explain', 'TASK-1');
    await daemonIn(here);
    const asked = await here.baton('explain', 'TASK-1');

    for (const { stdout } of [alone, asked]) {
      expect(stdout).toContain('[2J');
      for (const control of ['\u001b', '\u202e']) expect(stdout).not.toContain(control);
    }
  });

  test('a workflow that cannot be read is a mistake of the settings', async () => {
    const here = project('hangs');
    here.write('WORKFLOW.md', '---\nagent: 7\n---\n');

    expect(await here.baton('explain', 'TASK-1')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^baton: invalid_workflow_config/),
    });
  });

  test('has words for every rule', () => {
    const core = new Core();
    const rules = explainRules(core.state, core.now, anIssue('A'), null).map(({ rule }) => rule);

    expect(Object.keys(RULE_WORDS)).toEqual(rules);
  });
});
