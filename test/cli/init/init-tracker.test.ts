import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type InitOptions, init } from '../../../src/cli/init.js';
import { git, type World, world } from '../cli-fixture.js';

const start = (io: World, options: Partial<InitOptions> = {}) =>
  init({ dir: '.', yes: false, command: 'baton', ...options }, io);

function repository(io: World, remote: string): World {
  git(io.dir, 'init', '--quiet');
  git(io.dir, 'commit', '--quiet', '--allow-empty', '--message', 'first');
  git(io.dir, 'remote', 'add', 'origin', remote);
  return io;
}

const written = (io: World) => readFileSync(join(io.dir, 'WORKFLOW.md'), 'utf8');

describe('which project', () => {
  test.each([
    ['github', 'git@github.com:octo/app.git', 'provider:\n    repo: octo/app\n  #'],
    ['github', 'git@git.example.org:octo/app.git', 'repo: octo/app\n    endpoint: https://git.example.org/api/v3\n'],
    ['gitlab', 'https://gitlab.com/a/b/c.git', 'provider:\n    project: a/b/c\n  #'],
    ['gitlab', 'git@git.example.org:a/b.git', 'project: a/b\n    endpoint: https://git.example.org\n'],
  ])('for %s the remote names the project: %s', async (tracker, remote, section) => {
    const io = repository(world(), remote);

    expect(await start(io, { yes: true, tracker }), io.err()).toBe(0);
    expect(written(io)).toContain(section);
  });

  test('flags win over the remote', async () => {
    const io = repository(world(), 'git@github.com:octo/app.git');

    await start(io, { yes: true, tracker: 'github', project: 'octo/other' });

    expect(written(io)).toContain('repo: octo/other\n');
    expect(io.out()).toContain('works on issues of octo/other with the label "baton"');
  });

  test.each(['linear', 'github', 'gitlab', 'jira', 'redmine'])(
    '%s without a project and without a terminal: exit 2, the flag is named, nothing is written',
    async (tracker) => {
      const io = world();

      expect(await start(io, { yes: true, tracker })).toBe(2);
      expect(io.err()).toMatch(/^baton: the project of \w+ is missing\. Give it with --project: /);
      expect(readdirSync(io.dir)).toEqual([]);
    },
  );

  test.each([
    ['what names no project', 'jira', 'ABC', /"ABC" is no project of Jira\. Give with --project the address/],
    ['a project of a tracker that has none', 'local', 'x/y', /--project is for trackers with projects/],
    ['a name that the tracker would not take', 'github', 'octo_/a%b', /is no project of GitHub/],
    ['an address without encryption', 'redmine', 'http://example.org/projects/app', /over https only/],
    ['a name with blanks', 'redmine', 'https://example.org/projects/My App', /tracker\.provider\.project must be/],
  ])('%s: exit 2, nothing written', async (_, tracker, project, said) => {
    const io = world();

    expect(await start(io, { yes: true, tracker, project })).toBe(2);
    expect(io.err()).toMatch(said);
    expect(readdirSync(io.dir)).toEqual([]);
  });

  test('a login in an address that cannot be read is not shown', async () => {
    const io = world();

    expect(await start(io, { yes: true, tracker: 'jira', project: 'https://me:canary-5ecret@example.org/x' })).toBe(2);
    expect(io.out() + io.err()).not.toContain('canary');
  });
});

describe('asking', () => {
  test('all trackers are listed, a local one is proposed, and invalid input is asked again', async () => {
    const io = world({ isTTY: true });
    io.stdin.write('gihtub\njira\nABC\n\nhttps://acme.atlassian.net/browse/ABC\n\n\n');

    expect(await start(io), io.err()).toBe(0);
    expect(io.out()).toMatch(/\(local, linear, github, gitlab, jira, redmine, command\) \[local\] /);
    expect(io.out()).toMatch(/Did you mean github\?[\s\S]*"ABC" is no project[\s\S]*the project of Jira is missing/);
    expect(written(io)).toContain('endpoint: https://acme.atlassian.net\n    project: ABC\n');
  });

  test('the project of the remote is proposed', async () => {
    const io = repository(world({ isTTY: true }), 'git@github.com:octo/app.git');
    io.stdin.write('github\n\n\n\n');

    expect(await start(io), io.err()).toBe(0);
    expect(io.out()).toContain('[octo/app] ');
    expect(written(io)).toContain('repo: octo/app\n');
  });
});

describe('the agent', () => {
  const demo = { yes: true, demoAgentCommand: 'node agent.js' };

  test('the demo agent is not proposed for the issues of a team, even without codex', async () => {
    const io = world({ env: { PATH: '/usr/bin:/bin' } });

    await start(io, { ...demo, tracker: 'github', project: 'octo/app' });

    expect(written(io)).toContain('command: "codex app-server -c features.plugins=false"\n');
    expect(io.err()).toContain('npm install -g @openai/codex');
  });

  test('the demo agent can be chosen explicitly', async () => {
    const io = world();

    await start(io, { ...demo, tracker: 'github', project: 'octo/app', agent: 'demo' });

    expect(written(io)).toContain('command: node agent.js\n');
  });
});

describe('the variables', () => {
  const JIRA = { yes: true, tracker: 'jira', project: 'https://acme.atlassian.net/browse/ABC' };

  test('those that are not set are named, in the file and at the end', async () => {
    const io = world({ env: { JIRA_EMAIL: 'me@example.org' } });

    await start(io, JIRA);

    expect(io.out()).toMatch(/First set JIRA_API_TOKEN where Baton is started/);
    expect(written(io)).toContain('the variable JIRA_API_TOKEN');
  });

  test('one of two that mean the same is enough, and no value is shown', async () => {
    const io = world({ env: { GH_TOKEN: 'canary-t0ken' } });

    await start(io, { yes: true, tracker: 'github', project: 'octo/app' });

    expect(io.out()).not.toContain('First set');
    expect(io.out() + io.err() + written(io)).not.toContain('canary');
  });
});
