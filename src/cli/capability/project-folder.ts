import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { BatonError } from '../../domain/errors.js';
import type { Io } from '../io.js';

/** The folder of the workflow that was named, else the current one: capabilities are there without a WORKFLOW.md, too. */
export async function projectFolder(workflow: string | undefined, io: Io): Promise<string> {
  if (workflow === undefined) return io.cwd;
  const path = resolve(io.cwd, workflow);
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  if (isThere) return dirname(path);
  throw new BatonError('missing_workflow_file', `there is no ${path}; leave it out to look in this folder`);
}
