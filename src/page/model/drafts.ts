/**
 * What somebody has begun to write and not sent: kept outside of what is drawn, so that neither a live update nor a look at another view
 * loses it. It ends with the page.
 */
export class Drafts {
  readonly #texts = new Map<string, string>();

  get(key: string): string {
    return this.#texts.get(key) ?? '';
  }

  set(key: string, text: string): void {
    if (text === '') this.#texts.delete(key);
    else this.#texts.set(key, text);
  }

  /** Everything that was written for one question or issue. */
  drop(prefix: string): void {
    for (const key of [...this.#texts.keys()]) if (key.startsWith(prefix)) this.#texts.delete(key);
  }

  has(prefix: string): boolean {
    return [...this.#texts.keys()].some((key) => key.startsWith(prefix));
  }
}
