import type { Logger } from 'pino';
import { type Clock, withinLimit } from '../domain/clock.js';
import { BatonError } from '../domain/errors.js';

/** A resource that takes longer is abandoned: the loop, which handles signals, is closed by then, so a user cannot speed it up. */
const CLOSE_LIMIT_MS = 5_000;

/** `isForced`: close at once, without anything that is not essential. */
type Close = (isForced: boolean) => Promise<unknown> | unknown;

/** Opens resources in order and closes them once, in reverse. */
export class ResourceStack {
  readonly #opened: { readonly name: string; readonly close: Close }[] = [];

  constructor(
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /** Throws the error of `open`. */
  async open<T extends { readonly close: Close }>(name: string, open: () => T | Promise<T>): Promise<T> {
    const resource = await open();
    this.add(name, (isForced) => resource.close(isForced));
    return resource;
  }

  /** For a resource that is open already. */
  add(name: string, close: Close): void {
    this.#opened.push({ name, close });
  }

  /** Never throws. A resource that fails to close or takes too long is logged, and the next one is closed. */
  async closeAll(isForced: boolean): Promise<void> {
    const onLate = () => new BatonError('internal_error', `it did not close within ${CLOSE_LIMIT_MS} ms`);
    for (const { name, close } of this.#opened.splice(0).reverse())
      await withinLimit(this.clock, CLOSE_LIMIT_MS, async () => close(isForced), onLate).catch((error: unknown) =>
        this.log.error({ resource: name, err: error }, 'a resource did not close well'),
      );
  }
}
