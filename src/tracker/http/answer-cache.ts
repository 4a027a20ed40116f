/** What was answered under an ETag, so that the tracker need not send it again. Bounded; the longest unused goes first. */
export class AnswerCache {
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  constructor(
    private readonly maxEntries = 1_000,
    private readonly maxBytes = 64 * 1024 * 1024,
  ) {}

  get(key: string): Kept | null {
    const found = this.#kept.get(key);
    if (!found) return null;
    this.#kept.delete(key);
    this.#kept.set(key, found);
    return found;
  }

  put(key: string, kept: Kept): void {
    this.drop(key);
    if (kept.bytes > this.maxBytes) return;
    this.#kept.set(key, kept);
    this.#bytes += kept.bytes;
    for (const [oldest] of this.#kept) {
      if (this.#kept.size <= this.maxEntries && this.#bytes <= this.maxBytes) break;
      this.drop(oldest);
    }
  }

  drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
}

interface Kept {
  readonly etag: string;
  /** The same object each time: whoever made something of it may remember that by it. */
  readonly answer: CachedAnswer;
  readonly bytes: number;
}

export interface CachedAnswer {
  readonly body: unknown;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
}
