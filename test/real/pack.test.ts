import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('the packed tarball works through npx: the demo, in an empty folder', { timeout: 180_000 }, async () => {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'baton-pack-')));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', dir], { cwd: ROOT });
  const [tarball = ''] = (await readdir(dir)).filter((name) => name.endsWith('.tgz'));

  const npx = (...args: string[]) =>
    run('npx', ['--yes', `--package=./${tarball}`, '--', 'baton', ...args], {
      cwd: dir,
      env: { ...process.env, BATON_DEMO_PACE_MS: '0' },
      maxBuffer: 10_000_000,
    });
  const { stdout } = await npx('demo');

  expect(stdout).toContain('All 5 issues are done.');
  expect(await readFile(join(dir, 'baton-demo', 'WORKFLOW.md'), 'utf8')).toContain('kind: local');
  expect((await npx('--version')).stdout.trim()).toMatch(/^\d+\.\d+\.\d+$/);
});

test('npm run demo works in the checkout', { timeout: 120_000 }, async () => {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'baton-pack-')));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));

  const { stdout } = await run('npm', ['run', 'demo', '--', join(dir, 'demo')], {
    cwd: ROOT,
    env: { ...process.env, BATON_DEMO_PACE_MS: '0' },
  });

  expect(stdout).toContain('All 5 issues are done.');
});
