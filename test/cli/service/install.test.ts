import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { serviceWorld, UNIT } from './service-fixture.js';

const SECRET = 'services: { gateway: { base_url: "http://127.0.0.1:1", token: $LLM_TOKEN } }';
const failing = (pattern: RegExp) =>
  expect.objectContaining({ code: 'service_failed', message: expect.stringMatching(pattern) });

describe('baton service install', () => {
  test('writes the unit, reloads, enables and starts it, and shows all of that', async () => {
    const here = serviceWorld();

    expect(await here.install({ port: 0, logLevel: 'debug', stateDir: 'my state' })).toBe(0);

    const unit = here.read(here.unitPath);
    const state = join(here.dir, 'my state');
    expect(unit).toContain(
      `"run" "${here.dir}/WORKFLOW.md" "--state-dir" "${state}" "--port" "0" "--log-level" "debug"\n`,
    );
    expect(unit).toContain(`WorkingDirectory=${here.dir}\n`);
    expect(unit).toContain(`Environment="PATH=${here.env.PATH?.split(':')[0]}:`);
    expect(here.acts()).toEqual([
      'systemctl --no-ask-password --user daemon-reload',
      `systemctl --no-ask-password --user enable --now ${UNIT}`,
    ]);
    for (const line of unit.split('\n').filter((text) => text !== '')) expect(here.out()).toContain(`    ${line}\n`);
    expect(here.out()).toContain(`    systemctl --user enable --now ${UNIT}\n`);
    expect(statSync(here.unitPath).mode & 0o777).toBe(0o644);
  });

  test('--dry-run shows the same, writes nothing and runs no command', async () => {
    const here = serviceWorld('*) exit 1 ;;');

    expect(await here.install({ dryRun: true })).toBe(0);

    expect(here.out()).toContain(`Would write ${here.unitPath}:\n`);
    expect(here.out()).toContain(`    systemctl --user enable --now ${UNIT}\n`);
    expect(here.calls()).toEqual([]);
    expect([here.has(here.unitPath), here.has(here.variablesPath)]).toEqual([false, false]);
  });

  test('the unit is written to XDG_CONFIG_HOME', async () => {
    const here = serviceWorld('', { XDG_CONFIG_HOME: join('/', 'nowhere', 'config') });

    await here.install({ dryRun: true });

    expect(here.out()).toContain(`Would write /nowhere/config/systemd/user/${UNIT}:\n`);
    expect(here.out()).toContain('    Environment="XDG_CONFIG_HOME=/nowhere/config"\n');
  });

  test('SEC-30 the daemon applies changes without asking only after an install that says so', async () => {
    const here = serviceWorld();

    await here.install({ allowChanges: true });
    const first = here.read(here.unitPath);
    await here.install();

    expect(first).toContain(`"run" "${here.dir}/WORKFLOW.md" "--allow-changes"\n`);
    expect(here.read(here.unitPath)).not.toContain('allow-changes');
  });

  test('a second install updates the unit and restarts a running service', async () => {
    const here = serviceWorld('*is-active*) echo active ;;');
    await here.install();
    const before = here.acts().length;

    await here.install({ port: 8080 });

    expect(here.read(here.unitPath)).toContain('"--port" "8080"');
    expect(
      here
        .acts()
        .slice(before)
        .map((call) => call.replace(/.*--user /, '')),
    ).toEqual(['daemon-reload', `enable ${UNIT}`, `restart ${UNIT}`]);
  });

  test('an identical install does not restart a running service', async () => {
    const here = serviceWorld('*is-active*) echo active ;;');
    await here.install();
    const before = here.acts().length;

    await here.install();

    expect(here.acts().slice(before).join()).not.toContain('restart');
    expect(here.out()).toContain('already exists and is up to date.');
  });

  test('without perl the unit expects no notices, and the user is told', async () => {
    const here = serviceWorld();

    await here.install({ perl: ['/nonexistent/perl'] });

    expect(here.read(here.unitPath)).toContain(`\nType=exec\nExecStart="${process.execPath}" "`);
    expect(here.out()).toContain('Perl is missing');
  });

  test('lingering is mentioned only when it is off', async () => {
    const [off, on] = [serviceWorld(), serviceWorld()];
    on.program('loginctl', '#!/bin/bash\necho yes\n');

    for (const here of [off, on]) await here.install();

    expect(off.out()).toMatch(/loginctl enable-linger \w+\n/);
    expect(on.out()).not.toContain('enable-linger');
  });

  test('a service that does not come up fails with the end of its log', async () => {
    const here = serviceWorld('*enable*) echo "Job failed" >&2; exit 1 ;;');

    await expect(here.install()).rejects.toThrow(
      failing(/Job failed\nThe end of its log:\n {2}.* INFO {2}started\n {2}Main process exited$/),
    );
  });
});

describe('secrets', () => {
  test('have a file of their own, which only its owner reads, and which the unit names', async () => {
    const here = serviceWorld();
    here.workflow(SECRET);

    await here.install();

    expect(here.read(here.unitPath)).toContain(`EnvironmentFile=-${here.variablesPath}\n`);
    expect(here.read(here.variablesPath)).toMatch(/^#[^\n]*\n#[^\n]*\n#[^\n]*\n\n#LLM_TOKEN=\n$/);
    expect(statSync(here.variablesPath).mode & 0o777).toBe(0o600);
  });

  test('that are missing are named, and the service is enabled but not started', async () => {
    const here = serviceWorld('', { LLM_TOKEN: 'of today' });
    here.workflow(SECRET);

    expect(await here.install()).toBe(0);

    expect(here.out()).toContain(
      `The workflow needs LLM_TOKEN: put it into ${here.variablesPath}, then: systemctl --user restart ${UNIT}\n`,
    );
    expect(here.acts().at(-1)).toBe(`systemctl --no-ask-password --user enable ${UNIT}`);
    expect(`${here.out()}${here.read(here.unitPath)}${here.read(here.variablesPath)}`).not.toContain('of today');
  });

  test('an existing file is not changed; a file that other users can read gets a warning', async () => {
    const here = serviceWorld();
    here.workflow(SECRET);
    mkdirSync(dirname(here.variablesPath), { recursive: true });
    writeFileSync(here.variablesPath, 'LLM_TOKEN=x\n');
    chmodSync(here.variablesPath, 0o644);

    await here.install();

    expect(here.read(here.variablesPath)).toBe('LLM_TOKEN=x\n');
    expect(here.out()).not.toContain('The workflow needs');
    expect(here.out()).toContain(`Other users can read ${here.variablesPath}: run chmod 600 on it.\n`);
    expect(here.acts().at(-1)).toContain('enable --now');
  });
});

describe('baton service install refuses', () => {
  test('to overwrite a unit that Baton did not write, also a link', async () => {
    const here = serviceWorld();
    mkdirSync(dirname(here.unitPath), { recursive: true });
    writeFileSync(here.unitPath, '[Service]\nExecStart=/bin/true\n');
    symlinkSync('/dev/null', join(dirname(here.unitPath), 'baton-masked.service'));

    await expect(here.install()).rejects.toThrow(failing(/was not written by Baton.*--name/));
    await expect(here.install({ name: 'masked' })).rejects.toThrow(failing(/was not written by Baton/));
    expect(here.read(here.unitPath)).toBe('[Service]\nExecStart=/bin/true\n');
    expect(here.acts()).toEqual([]);
  });

  test('to overwrite the unit of another workflow; another name helps', async () => {
    const here = serviceWorld();
    await here.install();
    here.write('other/project/WORKFLOW.md', here.read(join(here.dir, 'WORKFLOW.md')));
    const workflowPath = 'other/project/WORKFLOW.md';

    await expect(here.install({ workflowPath })).rejects.toThrow(
      failing(/is the service of .*\/project\/WORKFLOW\.md\. Choose another name: --name/),
    );

    expect(await here.install({ workflowPath, name: 'second' })).toBe(0);
    expect(here.read(here.unitPath)).toContain(`"${here.dir}/WORKFLOW.md"`);
  });

  test('to create a second service for one workflow, also by another path or as a system service', async () => {
    const here = serviceWorld();
    await here.install();
    symlinkSync(here.dir, join(here.dir, '..', 'link'));

    const again = /has a service already: project/;
    await expect(here.install({ name: 'again' })).rejects.toThrow(failing(again));
    await expect(here.install({ name: 'again', workflowPath: '../link/WORKFLOW.md' })).rejects.toThrow(failing(again));
    await expect(here.install({ scope: 'system', runAs: 'worker', dryRun: true })).rejects.toThrow(failing(again));
  });

  test('a workflow that does not load, before anything else', async () => {
    const here = serviceWorld();
    here.write('WORKFLOW.md', '---\ntracker: { kind: nope }\n---\n');

    await expect(here.install()).rejects.toThrow(expect.objectContaining({ code: 'unsupported_tracker_kind' }));
    expect(here.acts()).toEqual([]);
  });

  test('a path that no unit can hold', async () => {
    const here = serviceWorld();
    here.write('a\nb/WORKFLOW.md', here.read(join(here.dir, 'WORKFLOW.md')));

    await expect(here.install({ workflowPath: 'a\nb/WORKFLOW.md' })).rejects.toThrow(failing(/a line break/));
  });
});

describe('without systemd', () => {
  test.each([
    ['*is-system-running) echo offline; exit 1 ;;', /not started by systemd.*--dry-run.*tmux.*--once/],
    ['*) exit 127 ;;', /systemctl is not on the PATH.*--dry-run.*tmux.*--once/],
    [
      '--user*) echo "Failed to connect to bus" >&2; exit 1 ;;',
      /of this user cannot be reached.*enable-linger.*--system --run-as/,
    ],
  ])('%j it prints the reason and the alternative, and writes nothing', async (answers, message) => {
    const here = serviceWorld(answers);

    await expect(here.install()).rejects.toThrow(failing(message));

    expect([here.has(here.unitPath), here.has(here.variablesPath), here.out()]).toEqual([false, false, '']);
  });

  test('a degraded systemd is accepted', async () => {
    expect(await serviceWorld('*is-system-running) echo degraded; exit 1 ;;').install()).toBe(0);
  });
});
