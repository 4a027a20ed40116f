import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listHolders, writeHolder } from '../../src/store/instance-lock.js';

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'baton-holders-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

const OWN = { pid: process.pid, since: '2026-03-01T00:00:00.000Z', workflow: '/a/WORKFLOW.md', stateDir: '/state/a' };

describe('the holders of locks in a folder', () => {
  test('are told once each, however many locks they have, the oldest first', async () => {
    const dir = folder();
    const older = { ...OWN, since: '2026-02-01T00:00:00.000Z', workflow: '/b/WORKFLOW.md', stateDir: '/state/b' };
    await writeHolder(join(dir, '1.json'), { ...OWN, key: 'the workspaces' });
    await writeHolder(join(dir, '2.json'), { ...OWN, key: 'the issues' });
    await writeHolder(join(dir, '3.json'), { ...older, key: 'other workspaces' });

    expect(await listHolders(dir)).toEqual([older, OWN]);
  });

  test('are told without a state directory where an older version wrote them down', async () => {
    const dir = folder();
    const { stateDir, ...old } = OWN;
    writeFileSync(join(dir, '1.json'), JSON.stringify({ ...old, key: 'k' }));

    expect(await listHolders(dir)).toEqual([old]);
  });

  test('who are dead are left out, and so is what is nobody', async () => {
    const dir = folder();
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    await once(child, 'spawn');
    await writeHolder(join(dir, '1.json'), { ...OWN, pid: child.pid ?? 0, key: 'k' });
    expect(await listHolders(dir)).toHaveLength(1);
    child.kill('SIGKILL');
    await once(child, 'exit');
    for (const [name, text] of [
      ['2.json', '{"pid":0,"since":"x","workflow":"y"}'],
      ['3.json', '{"pid":-1,"since":"x","workflow":"y"}'],
      ['4.json', '{"pid":1'],
      ['5.json', 'null'],
      ['6.json', `{"pid":${process.pid}}`],
      ['7.lock', JSON.stringify(OWN)],
    ] as const)
      writeFileSync(join(dir, name), text);

    expect(await listHolders(dir)).toEqual([]);
  });

  test.runIf(process.platform === 'linux')('whose number is another process by now are left out', async () => {
    const dir = folder();
    const path = join(dir, '1.json');
    await writeHolder(path, { ...OWN, key: 'k' });
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), begun: '1' }));

    expect(await listHolders(dir)).toEqual([]);
  });

  test('of a folder that is not there are nobody', async () => {
    expect(await listHolders('/none/there')).toEqual([]);
  });
});
