import type { Workflow } from './domain/config.js';

const KEPT = 8;

/**
 * The workflow in force, and the few before it. An order to start a run names the one it was decided under; that one is
 * never older than the event before.
 */
export class WorkflowBook {
  readonly #byHash = new Map<string, Workflow>();
  #current: Workflow;

  constructor(first: Workflow) {
    this.#current = first;
    this.take(first);
  }

  get current(): Workflow {
    return this.#current;
  }

  take(workflow: Workflow): void {
    this.#current = workflow;
    this.#byHash.delete(workflow.hash);
    this.#byHash.set(workflow.hash, workflow);
    for (const oldest of [...this.#byHash.keys()].slice(0, -KEPT)) this.#byHash.delete(oldest);
  }

  get(hash?: string): Workflow {
    return (hash === undefined ? undefined : this.#byHash.get(hash)) ?? this.#current;
  }
}
