import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isolationFindings } from '../../../src/cli/check/agent-findings.js';
import { asOrdinaryUser } from '../../support/as-ordinary-user.js';
import { startFakeGithub } from '../../support/trackers/fake-github.js';
import { contextFor } from './tracker-context.js';

// Only root can make a socket of root.
test.runIf(process.geteuid?.() === 0)(
  'warns about a socket of root that this user can write, not about an own one',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'baton-docker-'));
    const socket = join(folder, 'docker.sock');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    onTestFinished(() => {
      server.close();
      rmSync(folder, { recursive: true, force: true });
    });
    chmodSync(socket, 0o666);
    const context = await contextFor(await startFakeGithub());
    const io = { ...context.io, env: { ...context.io.env, DOCKER_HOST: `unix://${socket}` } };
    const warnings = () =>
      asOrdinaryUser(folder, async () =>
        (await isolationFindings({ ...context, io })).filter(({ message }) => message.includes(socket)),
      );

    expect(await warnings()).toMatchObject([{ level: 'warning', code: 'root_socket' }]);
    chownSync(socket, 65534, 65534);
    expect(await warnings()).toEqual([]);
  },
);
