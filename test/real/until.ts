const LOOK_EVERY_MS = 25;

/** Polls `look` until it returns a value, because other processes cannot call back. */
export async function until<T>(
  what: string,
  limitMs: number,
  look: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  const endMs = performance.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > endMs) throw new Error(`not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
