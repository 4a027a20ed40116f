// Installs the Redmine that `npm run test:real` drives, from Debian's packages: 26 MB, a minute. Only the program is wanted: each test file makes
// a database of its own, so the instance that the package would set up is declined, and one that is there is not looked at. Exits with 1 where it cannot.
//   node test/real/install-redmine.mjs
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const PACKAGES = ['redmine', 'redmine-sqlite', 'puma'];
const NO_INSTANCE = 'redmine redmine/instances/default/dbconfig-install boolean false\n';
const APT = ['apt-get', '-o', 'DPkg::Lock::Timeout=300'];

const missing = PACKAGES.filter((name) => said('dpkg-query', '-W', '-f', '${db:Status-Status}', name) !== 'installed');
if (missing.length > 0) install(asRoot());

/** How a command is run as root; nobody is asked for a password. */
function asRoot() {
  if (process.platform === 'linux' && existsSync('/usr/bin/apt-get')) {
    if (process.geteuid?.() === 0) return [];
    if (said('sudo', '-n', 'echo', 'yes') === 'yes') return ['sudo', '-n'];
  }
  console.error(
    `The tests against a real Redmine need Debian's packages ${missing.join(', ')}, and neither root nor sudo without a password is there to install them. ` +
      `Install them as root: apt-get install --no-install-recommends ${missing.join(' ')}`,
  );
  process.exit(1);
}

function install(prefix) {
  console.error(`installing Debian's packages ${missing.join(', ')}`);
  const run = (input, ...words) => {
    const [program, ...args] = [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', ...words];
    execFileSync(program, args, { input, stdio: ['pipe', 2, 2], timeout: 10 * 60_000 });
  };
  if (missing.includes('redmine')) run(NO_INSTANCE, 'debconf-set-selections');
  run('', ...APT, 'update');
  run('', ...APT, 'install', '-y', '--no-install-recommends', ...missing);
}

/** `null`: it failed, or is not there. */
function said(program, ...args) {
  try {
    return execFileSync(program, args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 10_000,
    }).trim();
  } catch {
    return null;
  }
}
