import { BoundedMap } from '../domain/bounded-map.js';
import type { Workflow } from '../domain/workflow.js';

const MAX_VERSIONS = 8;

/**
 * The current workflow and a few earlier versions. An order to start a run names the version that it was decided with, which is at
 * most a few events old.
 */
export class WorkflowVersions {
  readonly #byHash = new BoundedMap<string, Workflow>(MAX_VERSIONS);
  #current: Workflow;
  #loadedAtMs = 0;
  #waitingKeys: readonly string[] = [];

  constructor(first: Workflow, wallMs: number) {
    this.#current = first;
    this.take(first, wallMs, []);
  }

  get current(): Workflow {
    return this.#current;
  }

  /** When the current version was read. */
  get loadedAtMs(): number {
    return this.#loadedAtMs;
  }

  /** Settings of the file that take effect when the daemon is opened again. */
  get waitingKeys(): readonly string[] {
    return this.#waitingKeys;
  }

  take(workflow: Workflow, wallMs: number, waitingKeys: readonly string[]): void {
    this.#current = workflow;
    this.#loadedAtMs = wallMs;
    this.#waitingKeys = waitingKeys;
    this.#byHash.set(workflow.hash, workflow);
  }

  get(hash?: string): Workflow {
    return (hash === undefined ? undefined : this.#byHash.get(hash)) ?? this.#current;
  }
}
