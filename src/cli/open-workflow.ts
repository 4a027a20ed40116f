import { resolve } from 'node:path';
import { discoverCapabilities } from '../../runner/executors/capability/definitions.js';
import type { Durable } from '../domain/durable.js';
import { defaultStateDir } from '../state-dir.js';
import { readStored } from '../store/read-stored.js';
import { ADAPTERS } from '../tracker/adapters.js';
import { createTrackerRegistry, type TrackerRegistry } from '../tracker/registry.js';
import { type LoadedWorkflow, loadWorkflow } from '../workflow/load-workflow.js';
import { workflowKey } from '../workflow/workflow-key.js';
import type { Io } from './io.js';

/** A loaded WORKFLOW.md with its trackers and its stored state. */
export interface OpenedWorkflow {
  readonly loaded: LoadedWorkflow;
  readonly trackers: TrackerRegistry;
  /** The state directory of its daemon, which may not exist. */
  readonly stateDir: string;
  /** False with --allow-changes. */
  readonly holdsChanges: boolean;
  /** Reads the stored state of its daemon. */
  storedState(): Promise<Durable>;
}

export interface OpenOptions {
  /** The value of `--backend`. */
  readonly backend?: string | undefined;
  /** Code that the workflow runs is not compared with what was allowed. */
  readonly allowChanges?: boolean | undefined;
}

export async function openWorkflow(
  path: string,
  stateDir: string | undefined,
  io: Io,
  { backend, allowChanges = false }: OpenOptions = {},
): Promise<OpenedWorkflow> {
  const { env, homeDir, cwd } = io;
  const trackers = createTrackerRegistry(ADAPTERS);
  const trackerKinds = new Map(trackers.kinds.map((kind) => [kind, trackers.entry(kind).defaults]));
  const capabilities = (projectDir: string) => discoverCapabilities({ projectDir, homeDir });
  const options = { env, homeDir, trackerKinds, backendFlag: backend, capabilities, comparesCode: !allowChanges };
  const loaded = await loadWorkflow(resolve(cwd, path), options);
  const key = await workflowKey(loaded.workflow.path);
  const dir = stateDir === undefined ? defaultStateDir(key, env, homeDir) : resolve(cwd, stateDir);
  return { loaded, trackers, stateDir: dir, holdsChanges: !allowChanges, storedState: () => readStored(dir) };
}
