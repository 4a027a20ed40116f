import { describe, expect, test } from 'vitest';
import { guessProject, readProject } from '../../../src/cli/init/project-address.js';

const LINEAR = 'https://linear.app/acme';

describe('the project that a user enters', () => {
  test.each([
    ['github', 'octo/app', { repo: 'octo/app', endpoint: null }],
    ['github', 'https://github.com/octo/app/issues/12', { repo: 'octo/app', endpoint: null }],
    ['github', 'github.com/octo/app', { repo: 'octo/app', endpoint: null }],
    ['github', 'git@github.com:octo/app.git', { repo: 'octo/app', endpoint: null }],
    ['github', 'https://git.example.org/octo/app', { repo: 'octo/app', endpoint: 'https://git.example.org/api/v3' }],
    ['github', 'https://octo.ghe.com/octo/app', { repo: 'octo/app', endpoint: 'https://api.octo.ghe.com' }],
    ['gitlab', 'a/b/c', { project: 'a/b/c', endpoint: null }],
    ['gitlab', 'https://gitlab.com/a/b/-/issues/3', { project: 'a/b', endpoint: null }],
    ['gitlab', 'https://git.example.org:8443/a/b', { project: 'a/b', endpoint: 'https://git.example.org:8443' }],
    ['gitlab', 'git.example.org/a/b', { project: 'a/b', endpoint: 'https://git.example.org' }],
    ['github', 'git.example.org/octo/app', { repo: 'octo/app', endpoint: 'https://git.example.org/api/v3' }],
    ['gitlab', 'my.group/app', { project: 'my.group/app', endpoint: null }],
    ['linear', `${LINEAR}/project/app-0123456789ab/overview`, { project_slug: 'app-0123456789ab', team: null }],
    ['linear', `${LINEAR}/team/ENG/active`, { project_slug: null, team: 'ENG' }],
    ['linear', 'ENG', { project_slug: null, team: 'ENG' }],
    ['linear', 'eng', { project_slug: null, team: 'ENG' }],
    ['linear', '0123456789ab', { project_slug: '0123456789ab', team: null }],
    ['jira', 'https://acme.atlassian.net/browse/abc-12', { endpoint: 'https://acme.atlassian.net', project: 'ABC' }],
    [
      'jira',
      'acme.atlassian.net/jira/software/c/projects/ABC/boards/1',
      { endpoint: 'https://acme.atlassian.net', project: 'ABC' },
    ],
    ['redmine', 'https://example.org/projects/app/issues', { endpoint: 'https://example.org', project: 'app' }],
    ['redmine', 'https://example.org/rm/projects/app', { endpoint: 'https://example.org/rm', project: 'app' }],
    ['redmine', 'example.org:3000/projects/app', { endpoint: 'https://example.org:3000', project: 'app' }],
  ])('%s: %s', (kind, written, provider) => {
    expect(readProject(kind, ` ${written} `)?.provider).toEqual(provider);
  });

  test.each([
    ['github', 'app'],
    ['github', 'https://github.com/octo'],
    ['gitlab', 'app'],
    ['linear', `${LINEAR}/inbox`],
    ['linear', 'two words'],
    ['jira', 'ABC'],
    ['jira', 'https://acme.atlassian.net/jira/your-work'],
    ['redmine', 'app'],
    ['redmine', 'https://example.org/issues'],
    ['local', './backlog'],
  ])('%s: %s names none', (kind, written) => {
    expect(readProject(kind, written)).toBeNull();
  });

  test('a login in an address goes nowhere', () => {
    const place = readProject('gitlab', 'https://me:canary-5ecret@git.example.org/a/b');

    expect(JSON.stringify(place)).not.toMatch(/canary|me:/);
  });
});

describe('the project of a git remote', () => {
  test.each([
    ['github', 'git@github.com:octo/app.git', 'octo/app'],
    ['github', 'https://github.com/octo/app', 'octo/app'],
    ['github', 'https://me:t0ken@github.com/octo/app.git', 'octo/app'],
    ['github', 'ssh://git@ssh.github.com:443/octo/app.git', 'octo/app'],
    ['github', 'git@git.example.org:octo/app.git', 'https://git.example.org/octo/app'],
    ['gitlab', 'git@gitlab.com:a/b/c.git', 'a/b/c'],
    ['gitlab', 'ssh://git@git.example.org:2222/a/b.git', 'https://git.example.org/a/b'],
  ])('%s: %s is %s', (kind, remote, guess) => {
    expect(guessProject(kind, remote)).toBe(guess);
  });

  test.each([
    ['of another host that everybody knows', 'github', 'git@gitlab.com:octo/app.git'],
    ['of another host that everybody knows', 'gitlab', 'https://github.com/octo/app'],
    ['a path', 'github', '/srv/git/octo/app.git'],
    ['a name of the ssh settings', 'github', 'git@work:octo/app.git'],
    ['without encryption, where no token may go', 'gitlab', 'http://git.example.org/a/b.git'],
    ['too short', 'github', 'git@github.com:app.git'],
    ['for a tracker that has no code', 'jira', 'git@github.com:octo/app.git'],
    ['none', 'github', null],
  ])('a remote that is %s names no project', (_, kind, remote) => {
    expect(guessProject(kind, remote)).toBeNull();
  });
});
