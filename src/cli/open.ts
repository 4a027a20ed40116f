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
  /** Print the URL and nothing else. */
  readonly print: boolean;
}

const NO_PAGE =
  'the daemon serves no page: it has no port. Start it with --port 4711, or set server.port in WORKFLOW.md and start it again';

/** Prints where the page is, with the token that it needs to change things, and shows it where there is a desktop. */
export async function open({ workflow, stateDir, print }: OpenOptions, io: Io): Promise<number> {
  let url: string;
  try {
    const client = await connectDaemon({ workflow, stateDir }, io);
    const page = await client.get('/api/v1/page', pageShape).finally(() => client.close());
    if (page.url === null) {
      io.stderr.write(`baton: ${NO_PAGE}\n`);
      return 1;
    }
    // In the fragment: it is never sent anywhere, and so in no log.
    url = `${page.url.replace(/\/$/, '')}/#token=${encodeURIComponent(page.token)}`;
  } catch (error) {
    return printDaemonError(error, io);
  }
  io.stdout.write(`${neutralise(url)}\n`);
  if (!print && io.isTTY) await show(url, io);
  return 0;
}

/** That nothing could be opened is no failure: the URL has been printed. */
async function show(url: string, io: Io): Promise<void> {
  const desk = { platform: process.platform, env: io.env, isRoot: process.geteuid?.() === 0 };
  const opener = await findOpener(desk);
  if (opener === null) return;
  const failed = await openInBrowser(opener, url, io).catch((error: Error) => error.message);
  if (failed !== null) io.stderr.write(`baton: ${basename(opener)} did not open it: ${neutralise(failed)}\n`);
}

const START_MS = 10_000;
const BROWSER_MS = 20_000;

/** Shows a URL in the browser of this person; a string says why that did not work. */
export async function openInBrowser(program: string, url: string, { env }: Pick<Io, 'env'>): Promise<string | null> {
  const way = await openSingleUseRedirect(url);
  const clock = createClock();
  try {
    const containment = await detectContainment({ isolation: 'none', hide: [], clock });
    const known = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const bash = ['-p', '-c', SCRIPT, 'open', program, way.url];
    const result = await runShell({ bash, env: Object.fromEntries(known), cwd: '/', timeoutMs: START_MS }, containment);
    const failed = failureOf(result);
    if (failed !== null) return failed;
    return (await way.taken(BROWSER_MS)) ? null : 'no browser has come for it';
  } finally {
    clock.close();
    way.close();
  }
}

/**
 * A browser that is started by this is to stay when we go: it leaves our group and our marks, by which we end everything else. Whether
 * the program failed is known after a moment, or it has become the browser.
 */
const SCRIPT = `
unset ${MARKER_NAME} ${TREE_MARKER_NAME} ${DAEMON_MARKER_NAME}
set -m
"$@" </dev/null >/dev/null 2>&1 &
for ((look = 0; look < 20; look++)); do
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

/** An address that leads to another one, once. */
export interface SingleUseRedirect {
  readonly url: string;
  /** Somebody went this way. `false`: nobody did, in that time. */
  taken(limitMs: number): Promise<boolean>;
  close(): void;
}

/**
 * What a program is started with can be read by everybody on the machine, and the token must not be. So the browser is started with an
 * address of this process that nobody can guess, and is sent on from there; whoever comes second finds nothing.
 */
export async function openSingleUseRedirect(target: string): Promise<SingleUseRedirect> {
  const path = `/${randomBytes(24).toString('base64url')}`;
  let take = () => {};
  const taken = new Promise<true>((resolve) => {
    take = () => resolve(true);
  });
  let isOpen = true;
  const server = createServer((request, response) => {
    if (!isOpen || request.method !== 'GET' || request.url !== path) return void response.writeHead(404).end();
    isOpen = false;
    response.once('close', take);
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
    async taken(limitMs) {
      let late: NodeJS.Timeout | undefined;
      const never = new Promise<false>((resolve) => {
        late = setTimeout(() => resolve(false), limitMs);
      });
      return Promise.race([taken, never]).finally(() => clearTimeout(late));
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

/** The program that shows a URL to the person who sits here; `null`: nobody does, or there is none. */
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

/** A browser as root is asking for trouble, and root's desktop is nobody's. */
function openerName({ platform, env, isRoot }: Desk): string | null {
  if (isRoot) return null;
  const isSet = (name: string) => (env[name] ?? '') !== '';
  if (platform === 'darwin') return isSet('SSH_CONNECTION') ? null : 'open';
  return platform === 'linux' && (isSet('DISPLAY') || isSet('WAYLAND_DISPLAY')) ? 'xdg-open' : null;
}
