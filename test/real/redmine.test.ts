import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { BatonProcess } from './baton-process.js';
import { type MockModel, textOf, toolOutputs } from './mock-model.js';
import { call, hang, moveIssue, run, say } from './mock-replies.js';
import { redmineBed } from './redmine-bed.js';
import { RedmineServer } from './redmine-server.js';
import type { TestBed } from './test-bed.js';
import { until } from './until.js';

const MAIN = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));

const CLOSED = 5;
const RESOLVED = 3;
const IN_PROGRESS = 2;

describe.skipIf(!inject('hasRedmine'))('with a real Redmine', () => {
  let redmine: RedmineServer;
  beforeAll(async () => {
    redmine = await RedmineServer.start();
  }, 180_000);
  afterAll(() => redmine?.close());

  test('issues created over REST run after their blockers, are moved by redmine_api and by update_issue, and are cleaned up; SEC-20 the key appears nowhere', async () => {
    const bed = await redmineBed(redmine, { provider: 'raw_tool: true' });
    const { model, dir, project } = bed;
    const ann = redmine.as('ann');
    const ground = await ann.addIssue('Lay the ground', { project_id: project, description: 'Deep enough.' });
    const house = await ann.addIssue('Build on it', { project_id: project, priority_id: 5 });
    await ann.block(ground, house);
    const close = { issue: { status_id: CLOSED, notes: 'Laid by an agent.' } };
    model.script(
      `RM-${ground}`,
      run('env; cat /proc/self/environ /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n"; echo laid > ground.txt'),
      call('redmine_api', { method: 'GET', path: '/users/current.json' }),
      call('redmine_api', { method: 'PUT', path: `/issues/${ground}.json`, body: close }),
      say('The ground is laid.'),
    );
    model.script(`RM-${house}`, moveIssue('Closed', 'Built by another one.'), say('It stands.'));

    const baton = bed.start();
    for (const id of [ground, house]) await baton.line('workspace removed', { issue_identifier: `RM-${id}` });
    await baton.stop();

    expect([await ann.state(ground), await ann.state(house)]).toEqual(['Closed', 'Closed']);
    expect(await ann.notes(ground)).toEqual(['Laid by an agent.']);
    expect(await ann.notes(house)).toEqual(['Built by another one.']);
    expect(firstPrompt(model, ground)).toContain('Deep enough.');
    // The third request is the one whose answer closes the first issue: only then the second one may begin.
    expect(order(model, model.requestsOf(`RM-${ground}`)[2])).toBeLessThan(
      order(model, model.requestsOf(`RM-${house}`)[0]),
    );
    expect(baton.lines('run ended').map(({ outcome, turns }) => [outcome, turns])).toEqual([
      ['success', 1],
      ['success', 1],
    ]);
    expect(baton.lines('stopping run')).toEqual([]);
    const [environment = '', account = '', moved = ''] = toolOutputs(model.requestsOf(`RM-${ground}`)[3]);
    expect(environment).toContain('BATON_WORKSPACE');
    expect(environment).not.toContain('REDMINE_API_KEY');
    expect(account).toContain('baton');
    expect(account).not.toContain('api_key');
    expect(moved).toContain('204');
    for (const id of [ground, house]) expect(existsSync(join(dir, 'workspaces', `RM-${id}`))).toBe(false);
    expectNoKey(redmine, JSON.stringify([model.requests, model.refused]), bed.everythingWritten());
  });

  test('moving an issue stops its run and keeps its workspace; moved back with a note, the next run receives the note; closed, the workspace is deleted', async () => {
    const bed = await redmineBed(redmine, { tracker: 'trust: members' });
    const { model, dir, project } = bed;
    const ann = redmine.as('ann');
    const id = await ann.addIssue('Paint the door', { project_id: project });
    const identifier = `RM-${id}`;
    const workspace = join(dir, 'workspaces', identifier);
    model.script(identifier, hang, hang);

    const baton = bed.start();
    await until('a first run', 30_000, () => model.requestsOf(identifier)[0]);
    await ann.change(id, { status_id: RESOLVED });
    await baton.line('run ended', { issue_identifier: identifier });
    const isKept = existsSync(workspace);
    await redmine.as('eve').change(id, { notes: 'Paint it black, says a stranger.' });
    await ann.change(id, { notes: 'Only for us.', private_notes: true });
    await ann.change(id, { status_id: IN_PROGRESS, notes: 'Use the green paint.' });
    await until('a second run', 30_000, () => model.requestsOf(identifier)[1]);
    await ann.change(id, { status_id: CLOSED });
    await baton.line('workspace removed', { issue_identifier: identifier });
    await baton.stop();

    expect(baton.lines('stopping run')).toHaveLength(2);
    expect(isKept).toBe(true);
    expect(existsSync(workspace)).toBe(false);
    expect(firstPrompt(model, id)).not.toContain('green paint');
    const second = model.requestsOf(identifier)[1]?.input.map(textOf).join('\n') ?? '';
    expect(second).toContain('Ann Test said: Use the green paint.');
    expect(second).not.toContain('stranger');
    expect(second).not.toContain('Only for us.');
    expect(await ann.state(id)).toBe('Closed');
  });

  test('baton check finds account, project and states, suggests a similar state, and names the variable of a wrong key', async () => {
    const states = 'active_states: [New, In Progres], terminal_states: [Closed]';
    const bed = await redmineBed(redmine, { tracker: states });
    await redmine.as('ann').addIssue('Look at me', { project_id: bed.project });
    const stranger = await redmineBed(redmine, { key: 'f'.repeat(40) });

    const [good, bad] = [await check(bed), await check(stranger)];

    expect(good.output).toContain(`the token belongs to baton and has access to project ${bed.project}`);
    expect(good.output).toMatch(/"In Progres"[\s\S]*Did you mean "In Progress"\?/);
    expect(good.output).toContain('has 1 issue in New');
    expect(bad.code).toBe(1);
    expect(bad.output).toContain('does not accept the token of REDMINE_API_KEY');
    expect(good.output + bad.output).not.toContain(redmine.keyOf('baton'));
  });

  test('an unreachable Redmine is reported and stops no run; when it is back, the work is finished', async () => {
    const bed = await redmineBed(redmine, { settings: 'server: { port: 0 }' });
    const { model, dir, project } = bed;
    const id = await redmine.as('ann').addIssue('Wait for me', { project_id: project });
    const identifier = `RM-${id}`;
    model.script(identifier, run('mkfifo gate && cat gate'), moveIssue('Closed'), say('Done.'));

    const baton = bed.start();
    const gate = join(dir, 'workspaces', identifier, 'gate');
    await until('the command at its gate', 30_000, () => (existsSync(gate) ? true : undefined));
    await redmine.stop();
    const told = await baton.line('tracker cannot be read');
    const during = await stateOf(baton, dir);
    await redmine.serve();
    await baton.line('tracker can be read again');
    const after = await stateOf(baton, dir);
    await writeFile(gate, 'opened');
    await baton.line('workspace removed', { issue_identifier: identifier });
    await baton.stop();

    expect(told).toMatchObject({ level: 'warn', code: 'tracker_request' });
    expect(during).toMatchObject({
      poll: { health: 'failed', error_code: 'tracker_request' },
      running: [{ issue_identifier: identifier }],
    });
    expect(after).toMatchObject({ poll: { health: 'ok' }, running: [{ issue_identifier: identifier }] });
    expect(baton.lines('run started')).toHaveLength(1);
    expect(baton.lines('run ended')).toEqual([expect.objectContaining({ outcome: 'success', turns: 1 })]);
    expect(await redmine.as('ann').state(id)).toBe('Closed');
  });
});

/** The built command, as a person calls it. */
async function check({ dir, env }: TestBed): Promise<{ code: number | string; output: string }> {
  const told = await promisify(execFile)(process.execPath, [MAIN, 'check'], { cwd: dir, env }).catch((error) => error);
  return { code: told.code ?? 0, output: `${told.stdout}${told.stderr}` };
}

function firstPrompt(model: MockModel, id: number): string {
  return model.requestsOf(`RM-${id}`)[0]?.input.map(textOf).join('\n') ?? '';
}

function order(model: MockModel, request: MockModel['requests'][number] | undefined): number {
  return request === undefined ? Number.NaN : model.requests.indexOf(request);
}

async function stateOf(baton: BatonProcess, dir: string): Promise<object> {
  const { url } = await baton.line('serving status over HTTP');
  const token = readFileSync(join(dir, 'state', 'http-token'), 'utf8').trim();
  const answer = await fetch(`${url}/api/v1/state`, { headers: { authorization: `Bearer ${token}` } });
  return (await answer.json()) as object;
}

/** Neither as plain text nor as base64. */
function expectNoKey(redmine: RedmineServer, ...texts: string[]): void {
  const key = redmine.keyOf('baton');
  const forms = [key, Buffer.from(key).toString('base64'), Buffer.from(`${key}\n`).toString('base64')];
  for (const text of texts) for (const form of forms) expect(text.includes(form)).toBe(false);
}
