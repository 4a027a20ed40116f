import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Workflow } from '../../domain/config.js';
import { ADAPTERS } from '../../tracker/adapters.js';
import { createTrackerRegistry } from '../../tracker/registry.js';
import { loadWorkflow, parseWorkflow } from '../../workflow/load-workflow.js';
import type { Io } from '../io.js';

/** The settings that a capability runs under: those of the workflow, or the defaults where there is none. Throws `BatonError`. */
export async function openSettings(workflow: string | undefined, io: Io): Promise<Workflow> {
  const trackers = createTrackerRegistry(ADAPTERS);
  const trackerKinds = new Map(trackers.kinds.map((kind) => [kind, trackers.entry(kind).defaults]));
  // Without the capabilities that its steps name: one of those may be what is being tried out.
  const options = { env: io.env, homeDir: io.homeDir, trackerKinds };
  const path = resolve(io.cwd, workflow ?? 'WORKFLOW.md');
  if (workflow !== undefined || existsSync(path)) return (await loadWorkflow(path, options)).workflow;
  const file = { path: join(io.cwd, 'WORKFLOW.md'), bytes: Buffer.from(NO_SETTINGS), hash: '' };
  return (await parseWorkflow(file, options)).workflow;
}

const NO_SETTINGS = '---\ntracker: { kind: local }\n---\n';
