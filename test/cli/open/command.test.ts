import { describe, expect, test } from 'vitest';
import { demoWorkflow, liveDaemon } from '../client/live-daemon.js';
import { place } from '../command.js';

describe('baton open', () => {
  test('prints a URL whose token lets it change things', async () => {
    const here = place();
    demoWorkflow(here);
    here.issue(1, 'Done already', 'x', 'status: Done');
    await liveDaemon(here, '--port', '0');

    const { code, stdout, stderr } = await here.baton('open', '--print');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [, url, token] = /^(http:\/\/127\.0\.0\.1:\d+)\/#token=([\w%-]{16,})\n$/.exec(stdout) ?? [];
    const refresh = (authorization: string) =>
      fetch(`${url}/api/v1/refresh`, { method: 'POST', headers: { authorization } }).then(({ status }) => status);
    expect(await refresh(`Bearer ${token}`)).toBe(202);
    expect(await refresh('Bearer another')).toBeGreaterThanOrEqual(401);
  });

  test('opens nothing where nobody sits at a terminal', async () => {
    const here = place();
    demoWorkflow(here);
    here.issue(1, 'Done already', 'x', 'status: Done');
    here.write('bin/xdg-open', '#!/bin/sh\ntouch "$(dirname "$0")/opened"\n');
    await liveDaemon(here, '--port', '0');

    const { code } = await here.with({ DISPLAY: ':0', PATH: `${here.dir}/bin:${process.env.PATH}` }, 'open');

    expect(code).toBe(0);
    expect(() => here.read('bin/opened')).toThrow();
  });

  test('of a daemon without a port says how to get one; exit 1', async () => {
    const here = place();
    demoWorkflow(here);
    await liveDaemon(here);

    expect(await here.baton('open')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/it has no port\. Start it with --port 4711, or set server\.port/),
    });
  });

  test('without a daemon says so; exit 2', async () => {
    const here = place();
    demoWorkflow(here);

    expect(await here.baton('open')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('daemon_not_running'),
    });
  });
});
