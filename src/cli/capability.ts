import { discoverCapabilities } from '../../runner/executors/capability/definitions.js';
import { neutraliseJson } from '../text/neutralise.js';
import { type CapabilityListing, listCapabilities } from '../status/capability-listing.js';
import type { Io } from './io.js';
import { complain } from './capability/complain.js';
import { projectFolder } from './capability/project-folder.js';
import { tellListing } from './capability/tell-listing.js';

export interface ListOptions {
  readonly workflow?: string | undefined;
  readonly json: boolean;
}

/** Prints what a daemon on this project would find. */
export async function listCapability({ workflow, json }: ListOptions, io: Io): Promise<number> {
  try {
    const listing = await findIn(await projectFolder(workflow, io), io);
    io.stdout.write(json ? `${neutraliseJson(JSON.stringify(listing))}\n` : tellListing(listing, io));
    return 0;
  } catch (error) {
    return complain(error, 2, io);
  }
}

export async function findIn(projectDir: string, { homeDir }: Io): Promise<CapabilityListing> {
  return listCapabilities(await discoverCapabilities({ projectDir, homeDir }));
}
