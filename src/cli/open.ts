import { basename } from 'node:path';
import { neutralise } from '../text/neutralise.js';
import { pageShape } from '../status/shapes/request-shapes.js';
import { connectDaemon } from './client.js';
import type { DaemonTarget } from './daemon-place.js';
import { complainOf } from './with-daemon.js';
import type { Io } from './io.js';
import { findOpener } from './open/find-opener.js';

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
    return complainOf(error, io);
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
  const { openInBrowser } = await import('./open/open-in-browser.js');
  const failed = await openInBrowser(opener, url, io).catch((error: Error) => error.message);
  if (failed !== null) io.stderr.write(`baton: ${basename(opener)} did not open it: ${neutralise(failed)}\n`);
}
