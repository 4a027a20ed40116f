const KEPT = 40;

/** The history line by line: a hash of all lines, and the last lines for people. */
export class History {
  lines = 0;
  readonly #last: string[] = [];
  #a = 0x811c9dc5;
  #b = 0xc9dc5118;

  /** `onLine` receives every line. */
  constructor(private readonly onLine: ((line: string) => void) | null = null) {}

  tell(atMs: number, line: string): void {
    const text = `${(atMs / 1000).toFixed(3).padStart(11)} s  ${line}`;
    this.#last[this.lines % KEPT] = text;
    this.onLine?.(text);
    this.lines += 1;
    this.#mix(Math.floor(atMs * 1000));
    for (let index = 0; index < line.length; index++) this.#mix(line.charCodeAt(index));
  }

  /** Equal for equal histories only. */
  get hash(): string {
    return [this.#a, this.#b].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
  }

  get last(): readonly string[] {
    const oldest = this.lines % KEPT;
    return [...this.#last.slice(oldest), ...this.#last.slice(0, oldest)];
  }

  #mix(unit: number): void {
    this.#a = Math.imul(this.#a ^ unit, 0x01000193);
    this.#b = Math.imul(this.#b ^ ((unit << 7) | (unit >>> 9)), 0x01000193);
  }
}
