/** Gathers bytes up to a cap. It copies them: a million chunks of one byte cost a million bytes and not a million buffers. */
export class ByteSink {
  #buffer = Buffer.alloc(4 * 1024);
  #length = 0;

  constructor(private readonly maxBytes: number) {}

  /** False when not all of it fits. */
  push(chunk: Buffer): boolean {
    const wanted = this.#length + chunk.length;
    this.#reserve(Math.min(wanted, this.maxBytes));
    this.#length += chunk.copy(this.#buffer, this.#length, 0, this.maxBytes - this.#length);
    return wanted <= this.maxBytes;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#buffer.length) return;
    const larger = Buffer.alloc(Math.max(bytes, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
