import type { Config } from './config.js';
import type { Plan, PromptSource } from './steps/plan.js';

/** One reading of WORKFLOW.md. A run keeps the one it started with. */
export interface Workflow {
  readonly path: string;
  readonly dir: string;
  /** SHA-256 of what was read, executor definitions included: its identity. */
  readonly hash: string;
  readonly config: Config;
  readonly prompt: PromptSource;
  readonly plan: Plan;
  /** Names of the environment variables that hold secrets of tracker and services; they are kept from agents and hooks. */
  readonly secretNames: readonly string[];
  readonly warnings: readonly string[];
}
