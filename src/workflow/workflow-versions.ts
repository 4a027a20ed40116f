import { BoundedMap } from '../domain/bounded-map.js';
import type { Workflow } from '../domain/workflow.js';

const KEPT = 8;

/**
 * The workflow in force, and the few before it. An order to start a run names the one it was decided under; that one is
 * never older than the event before.
 */
export class WorkflowVersions {
  readonly #byHash = new BoundedMap<string, Workflow>(KEPT);
  #current: Workflow;
  #loadedAtMs = 0;
  #restartRequired: readonly string[] = [];

  constructor(first: Workflow, wallMs: number) {
    this.#current = first;
    this.take(first, wallMs, []);
  }

  get current(): Workflow {
    return this.#current;
  }

  /** When the one in force was read. */
  get loadedAtMs(): number {
    return this.#loadedAtMs;
  }

  /** Keys of the file that differ from those in force until a restart. */
  get restartRequired(): readonly string[] {
    return this.#restartRequired;
  }

  take(workflow: Workflow, wallMs: number, restartRequired: readonly string[]): void {
    this.#current = workflow;
    this.#loadedAtMs = wallMs;
    this.#restartRequired = restartRequired;
    this.#byHash.set(workflow.hash, workflow);
  }

  get(hash?: string): Workflow {
    return (hash === undefined ? undefined : this.#byHash.get(hash)) ?? this.#current;
  }
}
