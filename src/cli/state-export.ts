import { resolve } from 'node:path';
import { toBatonError } from '../domain/errors.js';
import { exportState } from '../store/read-stored.js';
import { neutraliseJson, neutraliseLines } from '../text/neutralise.js';
import type { Io } from './io.js';
import { openWorkflow } from './open-workflow.js';

export interface StateExportOptions {
  readonly workflowPath: string;
  readonly stateDir: string | undefined;
}

/** Prints everything that the daemon of a workflow has stored, as one JSON object. A state directory that is named needs no workflow. */
export async function stateExport({ workflowPath, stateDir }: StateExportOptions, io: Io): Promise<number> {
  const dir =
    stateDir === undefined ? (await openWorkflow(workflowPath, undefined, io)).stateDir : resolve(io.cwd, stateDir);
  try {
    const state = { exported_at: new Date().toISOString(), state_dir: dir, ...(await exportState(dir)) };
    // Line by line: the line breaks between values are ours.
    io.stdout.write(`${JSON.stringify(state, null, 2).split('\n').map(neutraliseJson).join('\n')}\n`);
    return 0;
  } catch (error) {
    const { code, message } = toBatonError(error);
    io.stderr.write(`baton: ${code}: ${neutraliseLines(message)}\n`);
    return 1;
  }
}
