import { resolve } from 'node:path';
import { discoverCapabilities } from '../../runner/executors/capability/definitions.js';
import type { Durable } from '../domain/durable.js';
import { defaultStateDir } from '../state-dir.js';
import { readStored } from '../store/read-stored.js';
import { ADAPTERS } from '../tracker/adapters.js';
import { createTrackerRegistry, type TrackerRegistry } from '../tracker/registry.js';
import { type LoadedWorkflow, loadWorkflow } from '../workflow/load-workflow.js';
import { workflowKey } from '../workflow/workspace-root.js';
import type { Io } from './io.js';

/** What every command needs that is about a WORKFLOW.md. */
export interface OpenedWorkflow {
  readonly loaded: LoadedWorkflow;
  readonly trackers: TrackerRegistry;
  /** Where its daemon keeps its state. Not made yet. */
  readonly stateDir: string;
  /** What its daemon has stored so far. */
  storedState(): Promise<Durable>;
}

export interface OpenOptions {
  /** What `--backend` said. */
  readonly backend?: string | undefined;
}

export async function openWorkflow(
  path: string,
  stateDir: string | undefined,
  io: Io,
  { backend }: OpenOptions = {},
): Promise<OpenedWorkflow> {
  const { env, homeDir, cwd } = io;
  const trackers = createTrackerRegistry(ADAPTERS);
  const trackerKinds = new Map(trackers.kinds.map((kind) => [kind, trackers.entry(kind).defaults]));
  const capabilities = (projectDir: string) => discoverCapabilities({ projectDir, homeDir });
  const options = { env, homeDir, trackerKinds, backendFlag: backend, capabilities };
  const loaded = await loadWorkflow(resolve(cwd, path), options);
  const key = await workflowKey(loaded.workflow.path);
  const dir = stateDir === undefined ? defaultStateDir(key, env, homeDir) : resolve(cwd, stateDir);
  return { loaded, trackers, stateDir: dir, storedState: () => readStored(dir) };
}
