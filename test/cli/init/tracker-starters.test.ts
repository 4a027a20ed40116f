import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Finding } from '../../../src/cli/check/finding.js';
import { check } from '../../../src/cli/check.js';
import { init } from '../../../src/cli/init.js';
import { startFakeGithub } from '../../support/trackers/fake-github.js';
import { startFakeGitlab } from '../../support/trackers/fake-gitlab.js';
import { startFakeJira } from '../../support/trackers/fake-jira.js';
import { startFakeLinear } from '../../support/trackers/fake-linear.js';
import { startFakeRedmine } from '../../support/trackers/fake-redmine.js';
import type { FakeTracker } from '../../support/trackers/fake-tracker.js';
import { type World, world } from '../cli-fixture.js';

interface Live {
  readonly fake: FakeTracker;
  /** The address that a user copies from the browser. */
  readonly project: string;
  readonly env?: { readonly [name: string]: string };
}

const LIVE: { readonly [kind: string]: () => Promise<Live> } = {
  async github() {
    const fake = await startFakeGithub('/api/v3');
    fake.world.labels.push('baton');
    return { fake, project: `${fake.server.url}/octo-org/widgets` };
  },
  async gitlab() {
    const fake = await startFakeGitlab();
    fake.world.labels.push('baton');
    return { fake, project: `${fake.server.url}/acme/tools/widgets/-/issues` };
  },
  async jira() {
    const fake = await startFakeJira();
    return { fake, project: `${fake.server.url}/browse/ABC-1`, env: { JIRA_EMAIL: 'baton@example.org' } };
  },
  async redmine() {
    const fake = await startFakeRedmine();
    fake.categories.add('baton');
    return { fake, project: `${fake.server.url}/projects/demo/issues` };
  },
  async linear() {
    const fake = await startFakeLinear();
    return { fake, project: 'https://linear.app/acme/project/baton-0123456789ab/overview' };
  },
};

function written(io: World): string {
  return readFileSync(join(io.dir, 'WORKFLOW.md'), 'utf8');
}

/** There is one Linear only: the fake has to be named by hand. */
function pointToFake(io: World, { kind, server }: FakeTracker): void {
  if (kind !== 'linear') return;
  io.write('WORKFLOW.md', written(io).replace('  provider:\n', `  provider:\n    endpoint: ${server.url}/graphql\n`));
}

/** The findings of the check, without those that depend on the machine of the test. */
async function complaints(io: World): Promise<string[]> {
  const before = io.out().length;
  await check({ workflowPath: 'WORKFLOW.md', json: true, schema: false }, io);
  const { findings, summary } = JSON.parse(io.out().slice(before)) as { findings: Finding[]; summary: object };
  expect(summary).toMatchObject({ active: 1, eligible: 1 });
  return findings
    .filter(({ group, level, advice }) => group !== 'Isolation' && (level !== 'note' || advice !== null))
    .map(({ message }) => message);
}

const CASES = [...Object.keys(LIVE).map((kind) => ({ kind, steps: false })), { kind: 'github', steps: true }];

test.each(CASES)(
  'the files of init for $kind pass the check with a token, and the first issue would start (steps: $steps)',
  async ({ kind, steps }) => {
    const { fake, project, env } = await (LIVE[kind] as () => Promise<Live>)();
    fake.add({ labels: ['baton'] });
    const io = world({ env: { [fake.variable]: fake.token, ...env } });
    io.program('codex', '#!/bin/sh\necho codex-cli 1\n');

    const code = await init(
      { dir: '.', yes: true, command: 'baton', tracker: kind, project, repoUrl: 'none', steps },
      io,
    );

    expect(code, io.err()).toBe(0);
    pointToFake(io, fake);
    expect(await complaints(io)).toEqual([]);
    expect(io.out() + io.err() + written(io)).not.toContain(fake.token);
  },
);
