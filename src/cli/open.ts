import { randomBytes } from 'node:crypto';
import { access, constants } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, isAbsolute, join } from 'node:path';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import { DAEMON_MARKER_NAME, MARKER_NAME, TREE_MARKER_NAME } from '../../runner/contain/marker-sweep.js';
import { pageShape } from '../api/schemas.js';
import { createClock } from '../clock.js';
import { neutralise } from '../text/neutralise.js';
import type { DaemonTarget } from './client.js';
import { connectDaemon, printDaemonError } from './client.js';
import type { Io } from './io.js';
import { runShell, type ShellResult } from './shell.js';

export interface OpenOptions extends DaemonTarget {
  /** Only print the URL. */
  readonly print: boolean;
}

const NO_PAGE =
  'the daemon serves no page, because it has no port. Start it with --port 4711, or set server.port in WORKFLOW.md and restart it';

/** Prints the URL of the page with the token that allows changes, and opens it on a desktop. */
export async function open({ workflow, stateDir, print }: OpenOptions, io: Io): Promise<number> {
  let url: string;
  try {
    const client = await connectDaemon({ workflow, stateDir }, io);
    const page = await client.get('/api/v1/page', pageShape).finally(() => client.close());
    if (page.url === null) {
      io.stderr.write(`baton: ${NO_PAGE}\n`);
      return 1;
    }
    // A browser never sends the fragment, so the token gets into no log.
    url = `${page.url.replace(/\/$/, '')}/#token=${encodeURIComponent(page.token)}`;
  } catch (error) {
    return printDaemonError(error, io);
  }
  io.stdout.write(`${neutralise(url)}\n`);
  if (!print && io.isTTY) await show(url, io);
  return 0;
}

/** A browser that does not open is no failure, since the URL has been printed. */
async function show(url: string, io: Io): Promise<void> {
  const desk = { platform: process.platform, env: io.env, isRoot: process.geteuid?.() === 0 };
  const opener = await findOpener(desk);
  if (opener === null) return;
  const failed = await openInBrowser(opener, url, io).catch((error: Error) => error.message);
  if (failed !== null) io.stderr.write(`baton: ${basename(opener)} did not open it: ${neutralise(failed)}\n`);
}

const START_MS = 10_000;
const BROWSER_MS = 20_000;

/** Opens a URL in the user's browser. Returns the reason for a failure. */
export async function openInBrowser(program: string, url: string, { env }: Pick<Io, 'env'>): Promise<string | null> {
  const redirect = await openSingleUseRedirect(url);
  const clock = createClock();
  try {
    const containment = await detectContainment({ isolation: 'none', hide: [], clock });
    const known = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const bash = ['-p', '-c', SCRIPT, 'open', program, redirect.url];
    const result = await runShell({ bash, env: Object.fromEntries(known), cwd: '/', timeoutMs: START_MS }, containment);
    const failed = failureOf(result);
    if (failed !== null) return failed;
    return (await redirect.isUsed(BROWSER_MS)) ? null : 'no browser requested it';
  } finally {
    clock.close();
    redirect.close();
  }
}

/**
 * A new browser must outlive this process, so it leaves our process group and our markers. The script waits two seconds for the program to
 * fail; a process that still runs is the browser.
 */
const SCRIPT = `
unset ${MARKER_NAME} ${TREE_MARKER_NAME} ${DAEMON_MARKER_NAME}
set -m
"$@" </dev/null >/dev/null 2>&1 &
for ((try = 0; try < 20; try++)); do
  kill -0 $! 2>/dev/null || break
  sleep 0.1
done
kill -0 $! 2>/dev/null && exit 0
wait $!
`;

function failureOf(result: ShellResult): string | null {
  if (result.ended === 'not_started') return result.message;
  if (result.ended === 'timeout') return 'it took too long';
  return result.code === 0 ? null : `it ended with ${result.code ?? 'a signal'}`;
}

/** An address that redirects to another one, once. */
export interface SingleUseRedirect {
  readonly url: string;
  /** Whether the address was requested within that time. */
  isUsed(limitMs: number): Promise<boolean>;
  close(): void;
}

/**
 * Every user of the machine can read the arguments of a program, so they must not contain the token. The browser is started with an
 * unguessable address of this process, which redirects the first request and answers 404 to every other one.
 */
export async function openSingleUseRedirect(target: string): Promise<SingleUseRedirect> {
  const path = `/${randomBytes(24).toString('base64url')}`;
  let use = () => {};
  const used = new Promise<true>((resolve) => {
    use = () => resolve(true);
  });
  let isOpen = true;
  const server = createServer((request, response) => {
    if (!isOpen || request.method !== 'GET' || request.url !== path) return void response.writeHead(404).end();
    isOpen = false;
    response.once('close', use);
    response.writeHead(302, {
      location: target,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      connection: 'close',
    });
    response.end();
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${path}`,
    async isUsed(limitMs) {
      let late: NodeJS.Timeout | undefined;
      const never = new Promise<false>((resolve) => {
        late = setTimeout(() => resolve(false), limitMs);
      });
      return Promise.race([used, never]).finally(() => clearTimeout(late));
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

export interface Desk {
  readonly platform: NodeJS.Platform;
  readonly env: NodeJS.ProcessEnv;
  readonly isRoot: boolean;
}

/** The program that opens a URL on this desktop; null without a desktop or a program. */
export async function findOpener(desk: Desk): Promise<string | null> {
  const name = openerName(desk);
  if (name === null) return null;
  const folders = (desk.env.PATH ?? '').split(':').filter((folder) => isAbsolute(folder));
  for (const folder of folders) {
    const path = join(folder, name);
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return null;
}

/** No browser runs as root. */
function openerName({ platform, env, isRoot }: Desk): string | null {
  if (isRoot) return null;
  const isSet = (name: string) => (env[name] ?? '') !== '';
  if (platform === 'darwin') return isSet('SSH_CONNECTION') ? null : 'open';
  return platform === 'linux' && (isSet('DISPLAY') || isSet('WAYLAND_DISPLAY')) ? 'xdg-open' : null;
}
