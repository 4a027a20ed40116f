import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { PricingConfig } from '../../domain/config.js';
import { toBatonError } from '../../domain/errors.js';
import type { ReportNote } from '../../report/report.js';
import { defaultStateDir } from '../../state-dir.js';
import { workflowKey } from '../../workflow/workspace-root.js';
import type { Io } from '../io.js';
import { openWorkflow } from '../open-workflow.js';

/** Where a daemon keeps its state, and what tokens cost. */
export interface FoundState {
  readonly dir: string;
  readonly pricing: PricingConfig | null;
  readonly notes: readonly ReportNote[];
}

/** A workflow that does not load any more takes the prices with it, not the report. `refusal`: there is nothing to look at. */
export async function findState(
  { workflowPath, stateDir }: { readonly workflowPath: string; readonly stateDir?: string | undefined },
  io: Io,
): Promise<FoundState | { readonly refusal: string }> {
  const named = stateDir === undefined ? undefined : resolve(io.cwd, stateDir);
  if (named !== undefined && statSync(named, { throwIfNoEntry: false })?.isDirectory() !== true)
    return { refusal: `there is no state directory ${named}` };
  try {
    const { loaded, stateDir: dir } = await openWorkflow(workflowPath, stateDir, io);
    return { dir, pricing: loaded.workflow.config.pricing, notes: [] };
  } catch (error) {
    const { code, message } = toBatonError(error);
    const dir = named ?? defaultStateDir(await workflowKey(resolve(io.cwd, workflowPath)), io.env, io.homeDir);
    // Neither the one nor the other: it was probably not meant.
    if (named === undefined && !existsSync(join(dir, 'baton.db'))) return { refusal: `${code}: ${message}` };
    const [why = ''] = message.split('\n');
    return { dir, pricing: null, notes: [{ kind: 'no_prices', why: `${code}: ${why}` }] };
  }
}
