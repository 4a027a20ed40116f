import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { uninstallService } from '../../../src/cli/service/install.js';
import { parseProperties, serviceLogs, serviceStatus, statusText } from '../../../src/cli/service/status.js';
import { type ServiceWorld, serviceWorld, UNIT } from './service-fixture.js';

const SHOWN = [
  'ActiveState=active',
  'SubState=running',
  'UnitFileState=enabled',
  'MainPID=77',
  'StatusText=2 running.',
];
const ACTIVE = `*show*) printf '%s\\n' ${SHOWN.map((line) => `'${line}'`).join(' ')} 'StateChangeTimestamp=Wed 2026-01-01' Result=success NRestarts=0 ;;`;
const failing = (pattern: RegExp) =>
  expect.objectContaining({ code: 'service_failed', message: expect.stringMatching(pattern) });

async function installed(answers = ''): Promise<ServiceWorld> {
  const here = serviceWorld(answers);
  await here.install();
  return here;
}

const target = { scope: 'user', workflowPath: 'WORKFLOW.md' } as const;
const uninstall = (here: ServiceWorld, options: { name?: string; dryRun?: boolean } = {}) =>
  uninstallService({ ...target, dryRun: false, command: 'baton', ...options }, here);

/** The output that a call added. */
async function told(here: ServiceWorld, call: () => Promise<number>) {
  const [length, before] = [here.out().length, here.acts().length];
  const code = await call();
  return { code, out: here.out().slice(length), acts: here.acts().slice(before) };
}

describe('baton service uninstall', () => {
  test.each([{}, { name: 'project' }])(
    '%j stops, disables and removes the unit, and lists the kept files',
    async (choice) => {
      const here = await installed();

      const { code, out, acts } = await told(here, () => uninstall(here, choice));

      expect([code, here.has(here.unitPath), here.has(here.variablesPath)]).toEqual([0, false, true]);
      expect(acts).toEqual([
        `systemctl --no-ask-password --user disable --now ${UNIT}`,
        'systemctl --no-ask-password --user daemon-reload',
        `systemctl --user reset-failed ${UNIT}`,
      ]);
      expect(out).toContain(`    ${join(here.homeDir, '.local/state/baton')}/`);
      expect(out).toContain(`    ${here.variablesPath}\n`);
    },
  );

  test('works when the workflow is gone or broken, by its name', async () => {
    const here = await installed();
    rmSync(join(here.dir, 'WORKFLOW.md'));

    expect(await uninstall(here, { name: 'project' })).toBe(0);
  });

  test('keeps the unit when it cannot be stopped', async () => {
    const here = await installed('*disable*) echo "Access denied" >&2; exit 4 ;;');

    await expect(uninstall(here)).rejects.toThrow(failing(/disable --now .* failed \(4\): Access denied/));
    expect(here.has(here.unitPath)).toBe(true);
  });

  test('--dry-run does nothing', async () => {
    const here = await installed();

    const { out, acts } = await told(here, () => uninstall(here, { dryRun: true }));

    expect(out).toContain(`Would remove ${here.unitPath}`);
    expect([here.has(here.unitPath), acts]).toEqual([true, []]);
  });

  test('does not touch foreign units, and lists our services', async () => {
    const here = await installed();
    const foreign = join(dirname(here.unitPath), 'baton-foreign.service');
    writeFileSync(foreign, '[Service]\n');

    await expect(uninstall(here, { name: 'foreign' })).rejects.toThrow(failing(/was not written by Baton/));
    await expect(uninstall(here, { name: 'nope' })).rejects.toThrow(failing(/no service nope; there are: project$/));
    expect(here.has(foreign)).toBe(true);
  });

  test('without any service it names the searched folders', async () => {
    await expect(uninstall(serviceWorld())).rejects.toThrow(
      failing(/no service for WORKFLOW\.md; there are none in .*--system\)\. `baton service install` creates one$/),
    );
  });
});

describe('baton service status', () => {
  test('shows each of our services: state, start time, pid, status text, the last log lines', async () => {
    const here = await installed(ACTIVE);
    writeFileSync(join(dirname(here.unitPath), 'baton-foreign.service'), '[Service]\n');

    const { code, out } = await told(here, () => serviceStatus({ scope: 'user' }, here));

    expect(code).toBe(0);
    expect(out).toMatch(
      /^project: active \(running\) since Wed 2026-01-01, enabled, pid 77\n {2}status {4}2 running\.\n/,
    );
    expect(out).toContain(`  workflow  ${here.dir}/WORKFLOW.md\n`);
    expect(out).toMatch(/ {2}log\n {4}\S+ INFO {2}started\n {4}Main process exited\n$/);
    expect(out).not.toContain('foreign');
  });

  test('an inactive service, and no service, exit 1', async () => {
    const here = await installed(
      "*show*) printf 'ActiveState=failed\\nSubState=failed\\nResult=watchdog\\nMainPID=0\\n' ;;",
    );

    const failed = await told(here, () => serviceStatus({ scope: 'user', name: 'project' }, here));
    const none = serviceWorld();

    expect(failed).toMatchObject({ code: 1, out: expect.stringContaining('  failed    watchdog, exit code ?\n') });
    expect([await serviceStatus({ scope: 'user' }, none), none.out()]).toEqual([
      1,
      expect.stringMatching(/^No service is installed: .*--system/),
    ]);
  });

  test('the status text of a unit cannot move the cursor', async () => {
    const here = await installed("*show*) printf 'ActiveState=active\\nStatusText=a\\e[2Jb\\n' ;;");

    const { out } = await told(here, () => serviceStatus({ scope: 'user' }, here));

    expect(out).toContain('a\\u001b[2Jb');
  });

  test('properties with = in them stay whole, empty ones count as absent', () => {
    expect(parseProperties('StatusText=a=b\nMainPID=\nnonsense\n')).toEqual({ StatusText: 'a=b' });
  });

  test('restarts and a changed unit are reported', () => {
    const mark = { workflow: '/p/W.md', stateDir: '/s', environmentFile: '/e' };

    const text = statusText({ name: 'x', path: '/u', mark }, { NRestarts: '3', NeedDaemonReload: 'yes' }, []);

    expect(text).toContain('  restarts  3\n');
    expect(text).toContain('daemon-reload');
  });
});

describe('baton service logs', () => {
  const logs = (here: ServiceWorld, follow = false) => serviceLogs({ ...target, follow, lines: 7 }, here);

  test('are those of journalctl, as the daemon wrote them', async () => {
    const here = await installed();

    const { code, out } = await told(here, () => logs(here));

    expect([code, out]).toEqual([
      0,
      '{"level":"info","time":"2026-01-01T00:00:00.000Z","msg":"started"}\nMain process exited\n',
    ]);
    expect(here.calls().at(-1)).toBe(`journalctl --user --unit ${UNIT} --lines=7 --output=cat --no-pager --quiet`);
  });

  test('-f is passed on, and output larger than a pipe buffer is complete', async () => {
    const here = await installed();
    here.program('journalctl', '#!/bin/bash\n[[ $* == *--follow ]] && seq 1 50000\n');

    const { out } = await told(here, () => logs(here, true));

    expect(out.trimEnd().split('\n')).toHaveLength(50_000);
  });

  test('that cannot be read fail with the reason', async () => {
    const here = await installed();
    here.program('journalctl', '#!/bin/bash\necho "No journal files" >&2; exit 1\n');

    await expect(logs(here)).rejects.toThrow(failing(/journalctl failed \(1\): No journal files/));
  });

  test('a missing journalctl is reported', async () => {
    const here = await installed();
    const bin = join(here.dir, 'empty');
    mkdirSync(bin);

    const call = serviceLogs({ ...target, follow: false, lines: 1 }, { ...here, env: { ...here.env, PATH: bin } });

    await expect(call).rejects.toThrow(failing(/the log cannot be read: journalctl could not be started/));
  });
});
