// Installs what `npm run test:real` drives, in a pinned version and outside of this project's own dependencies: once, into a
// cache that later runs use again. Prints {"codex": "<its entry point>", "backlog": "<its entry point>"}.
//   node test/real/install.mjs
//   BATON_TEST_CACHE   where to; default: baton-test below $XDG_CACHE_HOME or ~/.cache
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

const TOOLS = [
  { name: 'codex', spec: '@openai/codex@0.166.0', entry: '@openai/codex/bin/codex.js', megabytes: 436 },
  { name: 'backlog', spec: 'backlog.md@1.52.0', entry: 'backlog.md/cli.js', megabytes: 97 },
];
const INSTALL_LIMIT_MS = 10 * 60_000;
const ABANDONED_AFTER_MS = 2 * INSTALL_LIMIT_MS;

const cache = resolve(
  process.env.BATON_TEST_CACHE || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'baton-test'),
);
mkdirSync(cache, { recursive: true });
removeAbandoned();
console.log(JSON.stringify(Object.fromEntries(TOOLS.map((tool) => [tool.name, install(tool)]))));

function install({ name, spec, entry, megabytes }) {
  const version = spec.slice(spec.lastIndexOf('@') + 1);
  // A home may be shared by machines of several kinds, and the packages hold native programs.
  const folder = `${name}-${version}-${process.platform}-${process.arch}`;
  const path = join(cache, folder, 'node_modules', entry);
  if (existsSync(path)) return path;

  checkSpace(spec, megabytes);
  console.error(`installing ${spec} (${megabytes} MB) into ${cache}`);
  const making = mkdtempSync(join(cache, `.making-${folder}-`));
  try {
    npmInstall(spec, making);
    const said = execFileSync(process.execPath, [join(making, 'node_modules', entry), '--version'], {
      encoding: 'utf8',
    });
    if (!said.includes(version)) throw new Error(`${spec} was installed and says that it is ${said.trim()}`);
    putInPlace(making, join(cache, folder), path);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  return path;
}

/** Neither package needs its scripts; both need the optional dependency that holds their program. */
function npmInstall(spec, prefix) {
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--include=optional', '--global=false'];
  const args = ['install', '--prefix', prefix, ...flags, spec];
  try {
    // npm's own words belong to people: our stdout is the answer.
    execFileSync('npm', args, { cwd: prefix, stdio: ['ignore', 2, 2], timeout: INSTALL_LIMIT_MS });
  } catch (cause) {
    throw new Error(`${spec} could not be installed; what npm says is above. It needs the registry once.`, { cause });
  }
}

/** A folder under its final name is complete. Whoever comes second takes what the first one made. */
function putInPlace(making, folder, path) {
  try {
    renameSync(making, folder);
  } catch (error) {
    if (!existsSync(path)) throw error;
  }
}

/** The package itself and, on its way here, npm's copy of the download. */
function checkSpace(spec, megabytes) {
  const { bavail, bsize } = statfsSync(cache);
  const freeMb = Math.floor((bavail * bsize) / 1_000_000);
  const neededMb = megabytes * 2;
  if (freeMb >= neededMb) return;
  console.error(
    `${spec} needs ${neededMb} MB of free disk while it is installed, and ${cache} has ${freeMb} MB. ` +
      'Free some, or set BATON_TEST_CACHE to a folder on another disk.',
  );
  process.exit(1);
}

/** Of a run that was killed while it installed. */
function removeAbandoned() {
  for (const name of readdirSync(cache).filter((each) => each.startsWith('.making-'))) {
    const path = join(cache, name);
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > ABANDONED_AFTER_MS) rmSync(path, { recursive: true, force: true });
  }
}
