/** The last bytes of an endless output. Takes at most twice the room that it keeps. */
export class LastBytes {
  #bytes = Buffer.alloc(0);
  #isCut = false;

  constructor(private readonly maxBytes: number) {}

  push(chunk: Buffer): void {
    this.#isCut ||= this.#bytes.length + chunk.length > this.maxBytes;
    const joined = chunk.length >= this.maxBytes ? chunk : Buffer.concat([this.#bytes, chunk]);
    // A copy: a slice would hold on to the whole chunk.
    this.#bytes = Buffer.from(joined.subarray(-this.maxBytes));
  }

  /** Without a first line that is cut: half a secret would not be known as one. */
  text(): string {
    const text = this.#bytes.toString('utf8');
    if (!this.#isCut) return text;
    const at = text.indexOf('\n');
    return text.slice(at === -1 ? text.length / 2 : at + 1);
  }
}
