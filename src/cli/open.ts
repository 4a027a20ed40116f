import { access, constants } from 'node:fs/promises';
import { basename, isAbsolute, join } from 'node:path';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import { DAEMON_MARKER_NAME, MARKER_NAME, TREE_MARKER_NAME } from '../../runner/contain/marker-sweep.js';
import { containsProof, createNonce, createProver, proofPath } from '../api/proof.js';
import { pageFileShape, pageShape } from '../api/schemas.js';
import { createClock } from '../clock.js';
import { addressWithToken, type PageAddress } from '../daemon/open-page.js';
import { HttpClient, HttpFault } from '../http/client.js';
import { neutralise } from '../text/neutralise.js';
import { ApiError, connectDaemon, type DaemonTarget, printDaemonError } from './client.js';
import type { Io } from './io.js';
import { runShell, type ShellResult } from './shell.js';

export interface OpenOptions extends DaemonTarget {
  /** Only print the URL. */
  readonly print: boolean;
}

const NO_PAGE =
  'the daemon serves no page, because it has no port. Start it with --port 4711, or set server.port in WORKFLOW.md; that takes effect once no run is active. When another program has taken that port, end the program: the daemon tries again every minute';

/** Prints the URL of the page with the token, and opens the page on a desktop. */
export async function open({ workflow, stateDir, print }: OpenOptions, io: Io): Promise<number> {
  const opener = print || !io.isTTY ? null : await findOpener(deskOf(io));
  let address: string;
  let file: string | null;
  try {
    const client = await connectDaemon({ workflow, stateDir }, io);
    try {
      const { url, token } = await client.get('/api/v1/page', pageShape);
      if (url === null) {
        io.stderr.write(`baton: ${NO_PAGE}\n`);
        return 1;
      }
      await requireProof({ url, token });
      address = addressWithToken({ url, token });
      file = opener === null ? null : (await client.post('/api/v1/page/file', {}, pageFileShape)).file;
    } finally {
      client.close();
    }
  } catch (error) {
    return printDaemonError(error, io);
  }
  io.stdout.write(`${neutralise(address)}\n`);
  if (opener !== null && file !== null) await show(opener, file, io);
  return 0;
}

/** A browser that does not open is no failure, since the URL has been printed. */
async function show(opener: string, file: string, io: Io): Promise<void> {
  const failed = await openInBrowser(opener, file, io).catch((error: Error) => error.message);
  const message =
    failed === null
      ? `your browser opens ${file}, which leads to the page. Some browsers (from Snap or Flatpak) cannot read that file: then copy the address above into the browser`
      : `${basename(opener)} did not open the page: ${failed}. Copy the address above into a browser`;
  io.stderr.write(`baton: ${neutralise(message)}.\n`);
}

const PROOF_TRIES = 20;
const PROOF_MS = 5_000;
/** No further try begins later. */
const PROOF_RETRY_MS = 10_000;

/** Another program may have taken the port, and must not get the token. Throws `ApiError`. */
async function requireProof({ url, token }: PageAddress): Promise<void> {
  const prove = await createProver(token);
  const client = new HttpClient();
  const startedAtMs = performance.now();
  for (let tries = 1; ; tries += 1) {
    const nonce = createNonce();
    const target = new URL(proofPath(nonce), `${url}/`);
    try {
      const request = { method: 'GET', url: target, headers: {}, responseTimeoutMs: PROOF_MS } as const;
      const { bytes, fault } = await (await client.send(request)).read(MAX_PROOF_BYTES, PROOF_MS);
      if (fault) throw fault;
      if (containsProof(jsonOrNull(bytes.toString()), await prove(target.host, nonce))) return;
      throw new ApiError(0, 'bad_answer', `${url} is not served by this daemon: ${OTHER_PROGRAM}`);
    } catch (error) {
      if (!(error instanceof HttpFault)) throw error;
      // Under a flood of connections the daemon drops some.
      if (tries < PROOF_TRIES && performance.now() - startedAtMs < PROOF_RETRY_MS) continue;
      throw new ApiError(0, 'no_answer', `nothing answers at ${url}: ${OTHER_PROGRAM}`, { cause: error });
    }
  }
}

const MAX_PROOF_BYTES = 10_000;
const OTHER_PROGRAM =
  'another program may have taken the port, so the token was not sent. Restart the daemon with another --port, or end that program';

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function deskOf({ env }: Io): Desk {
  return { platform: process.platform, env, isRoot: process.geteuid?.() === 0 };
}

const START_MS = 10_000;

/** Opens a file in the user's browser. Returns the reason for a failure. */
export async function openInBrowser(program: string, file: string, { env }: Pick<Io, 'env'>): Promise<string | null> {
  const clock = createClock();
  try {
    const containment = await detectContainment({ isolation: 'none', hide: [], clock });
    const known = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const bash = ['-p', '-c', SCRIPT, 'open', program, file];
    const result = await runShell({ bash, env: Object.fromEntries(known), cwd: '/', timeoutMs: START_MS }, containment);
    return failureOf(result);
  } finally {
    clock.close();
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
