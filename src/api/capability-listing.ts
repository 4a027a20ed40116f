import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Capability, type CapabilityIndex, executorFor } from '../domain/capabilities.js';
import type { JsonObject } from '../domain/json.js';

/** All executors and capabilities, including those that cannot run yet. */
export interface CapabilityListing extends JsonObject {
  readonly executors: readonly ListedExecutor[];
  readonly capabilities: readonly ListedCapability[];
  readonly problems: readonly { readonly level: 'error' | 'warning'; readonly text: string }[];
}

export interface ListedExecutor extends JsonObject {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly types: readonly string[];
  readonly source: string;
  readonly dir: string;
  readonly entry: string;
  /** The executor must be built before it can run. */
  readonly entry_missing: boolean;
}

export interface ListedCapability extends JsonObject {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly source: string;
  readonly dir: string;
  /** The executor that runs it; `null`: there is none. */
  readonly executor: string | null;
  readonly inputs: readonly { readonly name: string; readonly type: string; readonly required: boolean }[];
}

export async function listCapabilities(index: CapabilityIndex): Promise<CapabilityListing> {
  return {
    executors: await Promise.all(
      index.executors.map(async ({ name, version, description, supportedTypes, source, dir, entryPoint }) => ({
        ...{ name, version, description, types: supportedTypes, source, dir, entry: entryPoint },
        entry_missing: !(await isFile(join(dir, entryPoint))),
      })),
    ),
    capabilities: index.capabilities.map((capability) => listed(capability, index)),
    problems: index.problems.map(({ level, text }) => ({ level, text })),
  };
}

function listed(capability: Capability, index: CapabilityIndex): ListedCapability {
  const { type, name, version, description, source, dir, inputs } = capability;
  return {
    ...{ type, name, version, description, source, dir },
    executor: executorFor(index, type, capability.executor)?.name ?? null,
    inputs: inputs.map((input) => ({ name: input.name, type: input.type, required: input.required })),
  };
}

function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
