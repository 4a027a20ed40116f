import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { BatonError } from '../../../src/domain/errors.js';
import { ADAPTERS } from '../../../src/tracker/adapters.js';
import { createTrackerRegistry } from '../../../src/tracker/registry.js';
import { tempDir, trackerIn } from './backlog-folder.js';

test('the local tracker has the states of Backlog.md', () => {
  const { defaults } = createTrackerRegistry(ADAPTERS).entry('local');

  expect(defaults).toEqual({ activeStates: ['To Do', 'In Progress'], terminalStates: ['Done'] });
});

test('its scope is the real folder, also before that exists', async () => {
  const dir = tempDir();
  await mkdir(path.join(dir, 'real'));
  await symlink('real', path.join(dir, 'link'));

  expect(trackerIn(dir, {}).scope).toBe(`local:${dir}/backlog`);
  expect(trackerIn(dir, { path: 'link/board' }).scope).toBe(`local:${dir}/real/board`);
  expect(trackerIn(path.join(dir, 'real'), { path: '~/elsewhere' }).scope).toBe(`local:${dir}/real/elsewhere`);
});

test.each([
  [{ path: 7 }, 'tracker.provider.path must be the path of a folder, got 7'],
  [{ path: ' ' }, 'tracker.provider.path must be the path of a folder, got " "'],
  [{ pathh: 'x' }, 'Did you mean tracker.provider.path?'],
  [{ token: 'x' }, 'tracker.provider.token is no setting of the local tracker. It takes: path.'],
])('invalid settings are refused: %j', (provider, message) => {
  const create = () => trackerIn(tempDir(), provider);

  expect(create).toThrow(BatonError);
  expect(create).toThrow(message);
});
