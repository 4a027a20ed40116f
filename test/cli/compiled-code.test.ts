import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { place } from './command.js';

const canKeep = 'enableCompileCache' in module;

test('compiled code is kept only beside the state of daemons, where no other account can write', async () => {
  const here = place();
  const base = join(here.dir, '../home/.local/state/baton');

  await here.baton('--version');
  expect(existsSync(base)).toBe(false);

  mkdirSync(base, { recursive: true, mode: 0o700 });
  chmodSync(base, 0o770);
  await here.baton('--version');
  expect(existsSync(join(base, 'compiled'))).toBe(false);

  chmodSync(base, 0o700);
  await here.baton('--version');
  expect(existsSync(join(base, 'compiled'))).toBe(canKeep);
});
