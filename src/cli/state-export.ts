import { resolve } from 'node:path';
import { exportState } from '../store/read-stored.js';
import { type Io, printError, printJson } from './io.js';
import { openWorkflow } from './open-workflow.js';

export interface StateExportOptions {
  readonly workflowPath: string;
  readonly stateDir: string | undefined;
}

/** Prints the stored state of a daemon as JSON. With a named state directory no workflow is needed. */
export async function stateExport({ workflowPath, stateDir }: StateExportOptions, io: Io): Promise<number> {
  const dir =
    stateDir === undefined ? (await openWorkflow(workflowPath, undefined, io)).stateDir : resolve(io.cwd, stateDir);
  try {
    printJson({ exported_at: new Date().toISOString(), state_dir: dir, ...(await exportState(dir)) }, io);
    return 0;
  } catch (error) {
    return printError(error, 1, io);
  }
}
