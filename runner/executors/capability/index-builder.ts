import type {
  Capability,
  CapabilityExecutor,
  CapabilityIndex,
  CapabilityProblem,
} from '../../../src/domain/capabilities.js';

const MAX_PROBLEMS = 500;

/** Collects what is found, in the order of registration. Pure. */
export class IndexBuilder {
  readonly #executors: CapabilityExecutor[] = [];
  readonly #capabilities = new Map<string, Capability>();
  readonly #problems: CapabilityProblem[] = [];

  addExecutor(executor: CapabilityExecutor): void {
    for (const type of executor.supportedTypes) {
      const other = this.#executors.findLast((each) => each.supportedTypes.includes(type));
      if (other?.source === executor.source) {
        this.warning(`${other.dir} and ${executor.dir} both run capabilities of type ${type}; the latter is used`);
      }
    }
    this.#executors.push(executor);
  }

  addCapability(capability: Capability): void {
    const key = JSON.stringify([capability.type, capability.name]);
    const other = this.#capabilities.get(key);
    if (other?.source === capability.source) {
      const what = `the capability ${capability.name} of type ${capability.type}`;
      this.warning(`${other.dir} and ${capability.dir} are both ${what}; the latter is used`);
    }
    this.#capabilities.set(key, capability);
  }

  error(text: string): void {
    this.#note({ level: 'error', text });
  }

  warning(text: string): void {
    this.#note({ level: 'warning', text });
  }

  index(): CapabilityIndex {
    const capabilities = [...this.#capabilities.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
    return { executors: this.#executors, capabilities, problems: this.#problems };
  }

  #note(problem: CapabilityProblem): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(problem);
  }
}
