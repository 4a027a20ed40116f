import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { uninstallService } from '../../../src/cli/service/install.js';
import { serviceWorld, UNIT } from './service-fixture.js';

const IS_ROOT = process.geteuid?.() === 0;
const failing = (pattern: RegExp) =>
  expect.objectContaining({ code: 'service_failed', message: expect.stringMatching(pattern) });

describe('baton service install --system', () => {
  test('runs as the named user, with the home and the state of that user', async () => {
    const here = serviceWorld('', { XDG_STATE_HOME: join('/', 'not', 'of', 'worker') });

    await here.install({ scope: 'system', runAs: 'worker', dryRun: true });

    expect(here.out()).toContain(`Would write ${here.etcDir}/systemd/system/${UNIT}:\n`);
    expect(here.out()).toContain('    User=worker\n');
    expect(here.out()).toContain(`    EnvironmentFile=-${here.etcDir}/baton/project.env\n`);
    expect(here.out()).toContain('"stateDir":"/srv/worker/.local/state/baton/');
    expect(here.out()).not.toContain('/not/of/worker');
    expect(here.out()).toContain(`    systemctl enable --now ${UNIT}\n`);
  });

  test('runs as the user who called sudo, and as root only when named', async () => {
    const here = serviceWorld('', { SUDO_USER: 'worker' });
    const byRoot = serviceWorld('', { SUDO_USER: 'root' });

    await here.install({ scope: 'system', dryRun: true });

    expect(here.out()).toContain('    User=worker\n');
    const wanted = failing(/--run-as <user>/);
    await expect(byRoot.install({ scope: 'system', dryRun: true })).rejects.toThrow(wanted);
    await expect(serviceWorld().install({ scope: 'system', dryRun: true })).rejects.toThrow(wanted);
  });

  test('an unknown user is refused', async () => {
    const here = serviceWorld();

    await expect(here.install({ scope: 'system', runAs: 'ghost', dryRun: true })).rejects.toThrow(
      failing(/there is no user ghost/),
    );
  });

  test('root is possible, with a warning', async () => {
    const here = serviceWorld();
    here.program('getent', '#!/bin/bash\necho root:x:0:0::/root:/bin/bash\n');

    await here.install({ scope: 'system', runAs: 'root', dryRun: true });

    expect(here.out()).toContain('    User=root\n');
    expect(here.out()).toContain('It runs as root, and so do its agents');
  });

  test.runIf(IS_ROOT)('writes both files for root, and uninstall removes the unit', async () => {
    const here = serviceWorld();
    const unitPath = join(here.etcDir, 'systemd/system', UNIT);

    expect(await here.install({ scope: 'system', runAs: 'worker' })).toBe(0);
    const wasThere = here.has(unitPath);
    const options = {
      scope: 'system',
      name: 'project',
      workflowPath: 'WORKFLOW.md',
      dryRun: false,
      command: 'baton',
    } as const;
    await uninstallService({ ...options, etcDir: here.etcDir }, here);

    expect([wasThere, here.has(unitPath), here.has(join(here.etcDir, 'baton/project.env'))]).toEqual([
      true,
      false,
      true,
    ]);
    expect(here.acts().join()).not.toContain('--user');
    expect(here.calls().join()).not.toContain('loginctl');
  });

  test.skipIf(IS_ROOT)('requires root', async () => {
    await expect(serviceWorld().install({ scope: 'system', runAs: 'worker' })).rejects.toThrow(
      failing(/sudo baton service install --system/),
    );
  });
});
