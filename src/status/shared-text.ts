/** How long a text is good for others who ask. */
const FRESH_MS = 250;

/**
 * A text that is expensive to make, made once for all who ask for it within a moment. Whatever a person would miss in it makes it stale at
 * once: who has just paused wants to see that.
 */
export class SharedText {
  readonly #make: () => string;
  #text: string | null = null;
  #madeAtMs = 0;

  constructor(make: () => string) {
    this.#make = make;
  }

  get(): string {
    if (this.#text !== null && performance.now() - this.#madeAtMs < FRESH_MS) return this.#text;
    const text = this.#make();
    this.#text = text;
    this.#madeAtMs = performance.now();
    return text;
  }

  stale(): void {
    this.#text = null;
  }
}
