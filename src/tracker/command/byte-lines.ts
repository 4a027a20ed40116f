const NEWLINE = 0x0a;
const FIRST_ROOM = 64 * 1024;
const NOTHING = Buffer.alloc(0);

/**
 * Cuts a stream of bytes into lines. On bytes, so that no character is decoded in halves; what waits for its end lies in one buffer
 * that doubles, so that neither a long line nor one that comes byte by byte costs more than its length. A line over the
 * limit is dropped, and from then on nothing more is taken.
 */
export class ByteLines {
  #held = NOTHING;
  #length = 0;
  #isOver = false;

  constructor(private readonly maxBytes: number) {}

  /** A line was longer than the limit. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The lines that `chunk` completes, without their ends. */
  push(chunk: Buffer): Buffer[] {
    const lines: Buffer[] = [];
    let start = 0;
    while (!this.#isOver && start < chunk.length) {
      const at = chunk.indexOf(NEWLINE, start);
      const piece = chunk.subarray(start, at === -1 ? chunk.length : at);
      if (this.#length + piece.length > this.maxBytes) {
        this.#isOver = true;
        this.#forget();
      } else if (at === -1) {
        this.#keep(piece);
      } else {
        lines.push(this.#complete(piece));
      }
      start = at === -1 ? chunk.length : at + 1;
    }
    return lines;
  }

  /** What came after the last end of a line. */
  rest(): Buffer {
    return this.#complete(NOTHING);
  }

  #complete(last: Buffer): Buffer {
    if (this.#length === 0) return last;
    this.#keep(last);
    const line = this.#held.subarray(0, this.#length);
    this.#forget();
    return line;
  }

  #keep(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#held.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(Math.max(FIRST_ROOM, 2 * length), Math.max(length, this.maxBytes)));
      this.#held.copy(grown, 0, 0, this.#length);
      this.#held = grown;
    }
    piece.copy(this.#held, this.#length);
    this.#length = length;
  }

  #forget(): void {
    this.#held = NOTHING;
    this.#length = 0;
  }
}
