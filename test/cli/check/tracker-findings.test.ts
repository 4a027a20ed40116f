import { describe, expect, test } from 'vitest';
import { exitCodeOf, type Finding } from '../../../src/cli/check/finding.js';
import { trackerFindings } from '../../../src/cli/check/tracker-findings.js';
import { check } from '../../../src/cli/check.js';
import { FakeClock } from '../../support/fake-clock.js';
import { startFakeGithub } from '../../support/trackers/fake-github.js';
import { startFakeGitlab } from '../../support/trackers/fake-gitlab.js';
import { startFakeJira } from '../../support/trackers/fake-jira.js';
import { startFakeLinear } from '../../support/trackers/fake-linear.js';
import { startFakeRedmine } from '../../support/trackers/fake-redmine.js';
import type { FakeTracker } from '../../support/trackers/fake-tracker.js';
import { world } from '../cli-fixture.js';
import { contextFor, type Given, workflowFor } from './tracker-context.js';

const LIMIT_MS = 15_000;
const LIST_LIMIT_MS = 60_000;

const FAKES: { readonly [kind: string]: () => Promise<FakeTracker> } = {
  github: startFakeGithub,
  gitlab: startFakeGitlab,
  jira: startFakeJira,
  linear: startFakeLinear,
  redmine: startFakeRedmine,
};
const KINDS = Object.keys(FAKES);
const startFake = (kind: string) => (FAKES[kind] as () => Promise<FakeTracker>)();

async function checked(fake: FakeTracker, given: Given = {}) {
  const context = await contextFor(fake, given);
  const { findings: own } = await trackerFindings(context);
  const lineOf = (text: string) => context.lines.findIndex((line) => line.trim() === text) + 1;
  return { code: exitCodeOf(own), own, out: JSON.stringify(own), lineOf };
}

const of = (findings: readonly Finding[], code: string) => findings.filter((finding) => finding.code === code);

describe('the token', () => {
  test.each(KINDS)('%s: a valid token is reported with its owner and not shown', async (kind) => {
    const fake = await startFake(kind);
    const io = world({ env: { [fake.variable]: fake.token } });
    io.program('codex', '#!/bin/sh\necho codex-cli 1\n');
    io.write('WORKFLOW.md', workflowFor(fake));

    const code = await check({ workflowPath: 'WORKFLOW.md', json: false, schema: false }, io);

    expect(code, io.out()).toBe(0);
    expect(io.out()).toMatch(/✓ the token belongs to baton/);
    expect(io.out()).not.toContain(fake.token);
  });

  test.each(KINDS)('%s: an invalid token is one error that names the variable, and exit 1', async (kind) => {
    const fake = await startFake(kind);

    const { code, own, out } = await checked(fake, { env: { [fake.variable]: 'canary-wrong-t0ken' } });

    expect(code, out).toBe(1);
    expect(own).toMatchObject([{ level: 'error', code: 'tracker_auth' }]);
    expect(own[0]?.message).toContain(fake.variable);
    expect(out).not.toContain('canary-wrong');
  });

  test.each(KINDS)('%s: a missing token is one error that names the variable and where to set it', async (kind) => {
    const fake = await startFake(kind);

    const { code, own } = await checked(fake, { env: { [fake.variable]: ' ' } });

    expect(code).toBe(2);
    expect(own).toMatchObject([{ level: 'error', code: 'missing_tracker_secret' }]);
    expect(own[0]?.message).toMatch(new RegExp(`Set ${fake.variable} where the daemon is started`));
    expect(fake.server.requests).toEqual([]);
  });
});

test('a missing permission is reported as such, without advice to renew the token', async () => {
  const fake = await startFakeRedmine();
  fake.isRestOff = true;

  const { code, own } = await checked(fake);

  expect(code).toBe(1);
  expect(own).toMatchObject([{ level: 'error', code: 'tracker_auth', advice: null }]);
  expect(own[0]?.message).toContain('Enable the REST web service');
});

test('in Redmine the required label is described as a category', async () => {
  const fake = await startFakeRedmine();
  fake.add({ labels: [] });

  const { own } = await checked(fake);

  expect(of(own, 'label_gate')[0]?.advice).toBe('Give the category "go" to the issues for Baton.');
});

test('a waiting issue is marked as neutral', async () => {
  const fake = await startFakeRedmine();
  fake.add({ labels: ['go'], isMember: false, author: 'eve' });
  const io = world({ env: { [fake.variable]: fake.token } });
  io.program('codex', '#!/bin/sh\necho codex-cli 1\n');
  io.write('WORKFLOW.md', workflowFor(fake, { tracker: { trust: 'members' } }));

  await check({ workflowPath: 'WORKFLOW.md', json: false, schema: false }, io);

  expect(io.out()).toMatch(/^ {2}· RM-\d+ would not start: its author .* is not trusted/m);
});

test('a missing variable of another setting is also reported once', async () => {
  const fake = await startFakeJira();

  const { code, own } = await checked(fake, { provider: { email: '$JIRA_EMAIL' } });

  expect(code).toBe(2);
  expect(own).toMatchObject([{ level: 'error', code: 'missing_tracker_secret' }]);
  expect(own[0]?.message).toContain('Set JIRA_EMAIL where the daemon is started');
});

describe('the project', () => {
  test.each([
    ['github', 'repo', 'octo-org/nothing'],
    ['gitlab', 'project', 'acme/nothing'],
    ['jira', 'project', 'NOTHING'],
    ['linear', 'project_slug', 'nothing-aaaaaaaaaaaa'],
    ['redmine', 'project', 'nothing'],
  ])('%s: a missing project is an error that names the key %s with its line, and exit 2', async (kind, key, name) => {
    const { code, own, out, lineOf } = await checked(await startFake(kind), { provider: { [key]: name } });

    expect(code, out).toBe(2);
    const line = lineOf(`${key}: ${name}`);
    expect(own).toMatchObject([{ level: 'error', code: 'invalid_tracker_config', line }]);
    expect(own[0]?.message).toContain(`tracker.provider.${key}`);
  });

  test('a public GitHub repository without a required label is an error', async () => {
    const fake = await startFakeGithub();
    fake.world.isPublic = true;

    const { code, own } = await checked(fake, { tracker: { required_labels: [] } });

    expect(code).toBe(2);
    expect(own).toMatchObject([{ level: 'error', code: 'invalid_tracker_config' }]);
    expect(own[0]?.message).toMatch(/public.*tracker\.required_labels.*tracker\.trust/);
  });
});

describe('the states', () => {
  const MISSPELT: readonly [string, string, string][] = [
    ['github', 'opne', 'open'],
    ['gitlab', 'openned', 'opened'],
    ['jira', 'In Progres', 'In Progress'],
    ['linear', 'To-do', 'Todo'],
    ['redmine', 'In progess', 'In Progress'],
  ];

  test.each(MISSPELT)('%s: an error with the nearest state when no state exists: %s', async (kind, state, near) => {
    const { code, own, out, lineOf } = await checked(await startFake(kind), { tracker: { active_states: [state] } });

    expect(code, out).toBe(2);
    expect(of(own, 'state_unknown')).toMatchObject([{ level: 'error', line: lineOf(`- ${state}`) }]);
    expect(of(own, 'state_unknown')[0]?.advice).toContain(`Did you mean "${near}"?`);
  });

  test.each(MISSPELT)('%s: a warning with its line when another state exists: %s', async (kind, state, near) => {
    const { code, own, out, lineOf } = await checked(await startFake(kind), {
      tracker: { active_states: [near, state] },
    });

    expect(code, out).toBe(0);
    const told = own.filter(({ level, message }) => level === 'warning' && message.includes(state));
    expect(told).toMatchObject([{ code: 'state_unknown', line: lineOf(`- ${state}`) }]);
  });

  test('an unknown terminal state is a warning; without a near match it lists all states', async () => {
    const { code, own, lineOf } = await checked(await startFakeJira(), { tracker: { terminal_states: ['Shipped'] } });

    expect(code).toBe(0);
    expect(of(own, 'state_unknown')).toMatchObject([
      {
        level: 'warning',
        line: lineOf('- Shipped'),
        advice: expect.stringMatching(/^The tracker has: To Do, .*Done\.$/),
      },
    ]);
  });

  test('default states cause no finding while one of them exists', async () => {
    const { code, own } = await checked(await startFakeLinear());

    expect(code).toBe(0);
    expect(of(own, 'state_unknown')).toEqual([]);
  });

  test('default states of which none exists are an error at the line of the kind', async () => {
    const fake = await startFakeJira();
    fake.statuses.splice(0, fake.statuses.length, { id: '1', name: 'Offen' }, { id: '2', name: 'Fertig' });

    const { code, own, lineOf } = await checked(fake);

    expect(code).toBe(2);
    expect(of(own, 'state_unknown').filter(({ level }) => level === 'error')).toMatchObject([
      { line: lineOf('tracker:'), message: expect.stringContaining('"To Do"') },
      { message: expect.stringContaining('"In Progress"') },
    ]);
  });
});

describe('webhooks', () => {
  const SECRET = 'canary-0123456789abcdef';

  test.each([
    ['without a secret', 'github', 'webhooks: { port: 8123 }\n', /webhooks\.secret is missing/],
    ['with a short secret', 'linear', 'webhooks: { port: 8123, secret: $SHORT }\n', /less than 16 characters/],
    ['with a variable that is not set', 'github', 'webhooks: { port: 8123, secret: $NOWHERE }\n', /\$NOWHERE/],
    ['of a kind without webhooks', 'jira', 'webhooks: { port: 8123, secret: $HOOK }\n', /webhooks of jira/],
  ])('%s are the same error as at start, with the line', async (_, kind, rest, said) => {
    const fake = await startFake(kind);

    const { code, own, out, lineOf } = await checked(fake, { rest, env: { SHORT: 'canary-1', HOOK: SECRET } });

    expect(code).toBe(2);
    expect(of(own, 'invalid_workflow_config')).toMatchObject([{ level: 'error', line: lineOf(rest.trim()) }]);
    expect(of(own, 'invalid_workflow_config')[0]?.message).toMatch(said);
    expect(of(own, 'tracker_access')).toHaveLength(1);
    expect(out).not.toContain('canary');
  });

  test('with valid settings cause no finding', async () => {
    const rest = 'webhooks: { port: 8123, secret: $HOOK }\n';

    expect(await checked(await startFakeGithub(), { rest, env: { HOOK: SECRET } })).toMatchObject({ code: 0 });
  });
});

test('a tracker that does not answer is reported after a timeout', async () => {
  const fake = await startFakeGithub();
  fake.server.fault = () => 'hang';
  const clock = new FakeClock();

  const finding = trackerFindings(await contextFor(fake, { clock }));
  await expect.poll(() => fake.server.requests.length).toBe(1);
  clock.advance(LIMIT_MS);
  const { findings, active } = await finding;

  expect(active).toBeNull();
  expect(findings).toMatchObject([
    { level: 'error', code: 'tracker_request', line: 3, message: 'the tracker did not answer within 15 s' },
  ]);
});

test('findings from before a list timeout are reported too, and the timeout is not an error of the workflow', async () => {
  const fake = await startFakeGithub();
  fake.server.fault = ({ url }) => (url.pathname.endsWith('/issues') ? 'hang' : null);
  const clock = new FakeClock();

  const finding = trackerFindings(await contextFor(fake, { clock }));
  await expect.poll(() => fake.server.requests.some(({ url }) => url.pathname.endsWith('/issues'))).toBe(true);
  clock.advance(LIST_LIMIT_MS);
  const { findings, active } = await finding;

  expect(active).toBeNull();
  expect(findings.map(({ code }) => code)).toEqual(['tracker_access', 'tracker_warning', 'tracker_slow']);
  expect(findings.at(-1)).toMatchObject({ level: 'warning' });
});
