import { resolve } from 'node:path';
import { toBatonError } from '../../domain/errors.js';
import { neutralise } from '../../domain/neutralise.js';
import { defaultStateDir } from '../../state-dir.js';
import { readHttpAddress } from '../../status/http-address.js';
import { readHttpToken } from '../../status/http-token.js';
import { workflowKey } from '../../workflow/workspace-root.js';
import type { Io } from '../io.js';
import { askRefresh } from './ask-refresh.js';
import { complain } from './complain.js';
import { findIn } from './list-capability.js';
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
  const dir = stateDir === undefined ? await usualStateDir(workflow, io) : resolve(io.cwd, stateDir);
  const [address, token] = await Promise.all([readHttpAddress(dir), readHttpToken(dir)]);
  if (address === null || token === null) {
    io.stdout.write(`${NO_DAEMON}\n\n${tellListing(await findIn(project, io), io)}`);
    return 0;
  }
  try {
    const listing = await askRefresh(address.url, token);
    io.stdout.write(`The daemon at ${address.url} has looked again.\n\n${tellListing(listing, io)}`);
    return 0;
  } catch (error) {
    io.stderr.write(`baton: ${neutralise(`${address.url} did not refresh: ${toBatonError(error).message}`)}\n`);
    return 1;
  }
}

async function usualStateDir(workflow = 'WORKFLOW.md', { cwd, env, homeDir }: Io): Promise<string> {
  return defaultStateDir(await workflowKey(resolve(cwd, workflow)), env, homeDir);
}

const NO_DAEMON =
  'No running daemon serves HTTP for this workflow (--port, server.port), and none needs to be told: every run looks again before it starts. It would find:';
