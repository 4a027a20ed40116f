import type { Json, JsonObject } from './json.js';

/** What was found in the folders of capabilities. */
export interface CapabilityIndex {
  /** In the order of registration: built-in, global, project; in a folder by name. For one type the last one wins. */
  readonly executors: readonly CapabilityExecutor[];
  /** One for each type and name, the nearest. */
  readonly capabilities: readonly Capability[];
  /** What was skipped or is odd, a sentence each, with its place. */
  readonly problems: readonly CapabilityProblem[];
}

export type CapabilitySource = 'project' | 'global' | 'built-in';

export interface CapabilityExecutor {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly supportedTypes: readonly string[];
  /** As written, from `dir` on. */
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
  /** Pinned; `null`: by type. */
  readonly executor: string | null;
  readonly dir: string;
  readonly source: CapabilitySource;
  /** The whole of capability.yaml. */
  readonly config: JsonObject;
}

export interface CapabilityInput {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  /** `undefined`: none. */
  readonly default?: Json;
}

export interface CapabilityProblem {
  /** `error`: it is not in the index. */
  readonly level: 'error' | 'warning';
  readonly text: string;
}

export function findCapability(index: CapabilityIndex, type: string, name: string): Capability | null {
  return index.capabilities.find((one) => one.type === type && one.name === name) ?? null;
}

/** Who runs a capability: the executor that it pins, else the last one registered for its type. */
export function executorFor(index: CapabilityIndex, type: string, pinned: string | null): CapabilityExecutor | null {
  const suits = ({ name, supportedTypes }: CapabilityExecutor) =>
    pinned === null ? supportedTypes.includes(type) : name === pinned;
  return index.executors.findLast(suits) ?? null;
}
