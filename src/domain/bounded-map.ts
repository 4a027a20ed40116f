/** Limits the total size of the values, for example in bytes. */
interface Weight<V> {
  readonly max: number;
  of(value: V): number;
}

/** A map of bounded size. When it is full, the entry that was used least recently is dropped. */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>();
  #weight = 0;

  constructor(
    private readonly maxEntries: number,
    private readonly weight: Weight<V> = { max: Number.POSITIVE_INFINITY, of: () => 0 },
  ) {}

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  /** A value larger than the limit is not stored. */
  set(key: K, value: V): void {
    this.delete(key);
    const weight = this.weight.of(value);
    if (weight > this.weight.max) return;
    this.#entries.set(key, value);
    this.#weight += weight;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.maxEntries && this.#weight <= this.weight.max) break;
      this.delete(oldest);
    }
  }

  delete(key: K): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#weight -= this.weight.of(value);
    this.#entries.delete(key);
  }
}
