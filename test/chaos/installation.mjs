import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const OWN = ['preload.mjs', 'preload-sqlite.mjs', 'scripts'];

/**
 * The built product with its production packages in a folder that every user can read; a
 * build in the meantime changes nothing about a test of a quarter of an hour.
 */
export function install() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'baton-chaos-')));
  chmodSync(folder, 0o755);
  const manifest = readFileSync(join(PROJECT, 'package.json'), 'utf8');
  writeFileSync(join(folder, 'package.json'), manifest);
  cpSync(join(PROJECT, 'dist'), join(folder, 'dist'), { recursive: true });
  cpSync(process.execPath, join(folder, 'node'));
  for (const name of OWN) cpSync(join(PROJECT, 'test/chaos', name), join(folder, name), { recursive: true });
  for (const name of Object.keys(JSON.parse(manifest).dependencies)) copyPackage(folder, name);
  return {
    folder,
    node: join(folder, 'node'),
    main: join(folder, 'dist/src/main.js'),
    preload: join(folder, 'preload.mjs'),
    scripts: join(folder, 'scripts'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function copyPackage(folder, name) {
  const source = join(PROJECT, 'node_modules', name);
  const target = join(folder, 'node_modules', name);
  if (!existsSync(source) || existsSync(target)) return;
  mkdirSync(dirname(target), { recursive: true });
  cpSync(source, target, { recursive: true });
  const { dependencies = {} } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
  for (const each of Object.keys(dependencies)) copyPackage(folder, each);
}
