import type { Json, JsonObject } from './json.js';

/** The executors and capabilities in the capability folders. */
export interface CapabilityIndex {
  /** Built-in, then global, then project executors; by name within a folder. The last one for a type wins. */
  readonly executors: readonly CapabilityExecutor[];
  /** One for each type and name: project before global before built-in. */
  readonly capabilities: readonly Capability[];
  /** Skipped or unusual entries. */
  readonly problems: readonly CapabilityProblem[];
  /** The executors among the problems of level `error`. */
  readonly brokenExecutors: readonly BrokenExecutor[];
}

/** A definition of an executor that cannot be used. */
export interface BrokenExecutor {
  /** The name of its folder, and the one in the file if it can be read. */
  readonly names: readonly string[];
  /** Null when the file cannot be read. */
  readonly types: readonly string[] | null;
  /** The file and its problem. */
  readonly text: string;
}

export type CapabilitySource = 'project' | 'global' | 'built-in';

export interface CapabilityExecutor {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly supportedTypes: readonly string[];
  /** As written, relative to `dir`. */
  readonly entryPoint: string;
  readonly author: string;
  readonly dir: string;
  readonly source: CapabilitySource;
}

export interface Capability {
  readonly name: string;
  readonly type: string;
  readonly version: string;
  readonly description: string;
  readonly inputs: readonly CapabilityInput[];
  /** The executor that the capability names; null: the one for its type. */
  readonly executor: string | null;
  readonly dir: string;
  readonly source: CapabilitySource;
  /** All of capability.yaml. */
  readonly config: JsonObject;
}

export interface CapabilityInput {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  /** Undefined: no default. */
  readonly default?: Json;
}

export interface CapabilityProblem {
  /** `error`: the entry is not in the index. */
  readonly level: 'error' | 'warning';
  readonly text: string;
}

export function findCapability(index: CapabilityIndex, type: string, name: string): Capability | null {
  return index.capabilities.find((one) => one.type === type && one.name === name) ?? null;
}

/** The executor of a capability: the one that it names, else the last one for its type. */
export function executorFor(index: CapabilityIndex, type: string, pinned: string | null): CapabilityExecutor | null {
  const suits = ({ name, supportedTypes }: CapabilityExecutor) =>
    pinned === null ? supportedTypes.includes(type) : name === pinned;
  return index.executors.findLast(suits) ?? null;
}

/** A definition that would be the missing executor of a capability if it were valid. A file that cannot be read may be for any type. */
export function brokenExecutorFor(
  { brokenExecutors }: CapabilityIndex,
  type: string,
  pinned: string | null,
): BrokenExecutor | null {
  const suits = ({ names, types }: BrokenExecutor) =>
    pinned === null ? types === null || types.includes(type) : names.includes(pinned);
  return brokenExecutors.findLast(suits) ?? null;
}
