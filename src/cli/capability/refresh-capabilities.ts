import { BatonError } from '../../domain/errors.js';
import { neutralise } from '../../text/neutralise.js';
import { connectDaemon, type DaemonClient } from '../client.js';
import type { Io } from '../io.js';
import { askRefresh } from './ask-refresh.js';
import { complain } from './complain.js';
import { findIn } from '../capability.js';
import { projectFolder } from './project-folder.js';
import { tellListing } from './tell-listing.js';

export interface RefreshOptions {
  readonly workflow?: string | undefined;
  readonly stateDir?: string | undefined;
}

/** Asks the daemon of a workflow to look again. Where there is none to ask, looks itself. */
export async function refreshCapabilities({ workflow, stateDir }: RefreshOptions, io: Io): Promise<number> {
  let project: string;
  try {
    project = await projectFolder(workflow, io);
  } catch (error) {
    return complain(error, 2, io);
  }
  let client: DaemonClient | null = null;
  try {
    client = await connectDaemon({ workflow, stateDir }, io);
    const listing = await askRefresh(client);
    io.stdout.write(`The daemon has looked again.\n\n${tellListing(listing, io)}`);
    return 0;
  } catch (error) {
    if (error instanceof BatonError && error.code === 'daemon_not_running') {
      io.stdout.write(`${NO_DAEMON}\n\n${tellListing(await findIn(project, io), io)}`);
      return 0;
    }
    io.stderr.write(`baton: ${neutralise(`the daemon did not refresh: ${(error as Error).message}`)}\n`);
    return 1;
  } finally {
    client?.close();
  }
}

const NO_DAEMON =
  'No daemon of this workflow is running, and none needs to be told: every run looks again before it starts. It would find:';
