import { type Context, type Emitter, toValue } from 'liquidjs';
import { BatonError } from '../src/domain/errors.js';

/** Enough for thousands of comments; a template that needs more is a runaway loop. */
export const MAX_OPERATIONS = 100_000;
/** Characters and array elements that filters, ranges and captures may make while one prompt is rendered. */
export const MAX_ALLOCATIONS = 20_000_000;
/** The template itself, in characters. */
export const MAX_TEMPLATE_LENGTH = 1_000_000;
/** Codex refuses input of over 1,048,576 characters. */
export const MAX_PROMPT_LENGTH = 1_000_000;

/**
 * Stops a render after a fixed number of operations. liquidjs checks its own limit against the time of day before every
 * tag, output and text, and once per round of a loop; here the same checks are counted, so that a template
 * either always passes or always fails, on a slow machine too.
 */
export function limitOperations(context: Context, limit: number): void {
  let operations = 0;
  context.renderLimit.check = () => {
    operations += 1;
    if (operations > limit) throw new Error(`the render limit of ${limit} operations is exceeded`);
  };
}

/** Collects what is written and gives up as soon as it grows too long. The result is whole or an error, never cut. */
export class BoundedOutput implements Emitter {
  buffer = '';
  readonly #onWrite: (length: number) => void;

  constructor(onWrite: (length: number) => void) {
    this.#onWrite = onWrite;
  }

  write(value: unknown): void {
    const plain = toValue(value);
    if (Array.isArray(plain)) {
      for (const element of plain) this.write(element);
      return;
    }
    if (plain === null || plain === undefined) return;
    const text = String(plain);
    this.#onWrite(text.length);
    this.buffer += text;
  }
}

/** The output of the whole prompt. */
export function promptOutput(maxLength: number): BoundedOutput {
  let length = 0;
  return new BoundedOutput((added) => {
    length += added;
    if (length > maxLength) {
      throw new BatonError(
        'prompt_too_large',
        `the rendered prompt is over ${maxLength} characters: shorten the template, or the text of the issue that it prints`,
      );
    }
  });
}
