import type { Json, JsonObject } from '../../src/domain/json.js';

const PREVIEW_BYTES = 1_000;
/** An output has several texts, stdout and stderr: together they may be larger than one. */
const WHOLE_PER_TEXT = 4;

/**
 * What later steps see of an output: texts of over `maxBytes` are cut, and a member beside them says so (`stdout_truncated: true`).
 * What is too large even then is replaced by its beginning. The transcript has it all. Pure; the result survives a round trip
 * through JSON.
 */
export function cutOutput(output: unknown, maxBytes: number): Json {
  const whole = toJson(output);
  const cut = cutTexts(whole, maxBytes);
  const text = JSON.stringify(cut);
  if (Buffer.byteLength(text) <= maxBytes * WHOLE_PER_TEXT || typeof cut === 'string') return cut;
  return beginningOf(text, Buffer.byteLength(JSON.stringify(whole)), maxBytes);
}

/** The outputs of branches in their order. As soon as they are too large together no more are kept: a thousand are held at no time. */
export class OutputList {
  readonly #outputs: Json[];
  #bytes = 0;

  constructor(
    length: number,
    private readonly maxBytes: number,
  ) {
    this.#outputs = new Array<Json>(length).fill(null);
  }

  put(index: number, output: Json): void {
    this.#bytes += Buffer.byteLength(JSON.stringify(output));
    if (this.#isWhole()) this.#outputs[index] = output;
  }

  get all(): Json {
    return this.#isWhole() ? this.#outputs : beginningOf(JSON.stringify(this.#outputs), this.#bytes, this.maxBytes);
  }

  #isWhole(): boolean {
    return this.#bytes <= this.maxBytes * WHOLE_PER_TEXT;
  }
}

function beginningOf(text: string, bytes: number, maxBytes: number): Json {
  return { truncated: true, bytes, preview: headOf(text, Math.min(maxBytes, PREVIEW_BYTES)) };
}

/** Numbers that JSON does not know become null, members that it does not know are left out. */
function toJson(value: unknown): Json {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? null : (JSON.parse(text) as Json);
  } catch {
    return null; // A cycle, or a BigInt: no executor gives such a thing, and none may break a run with it.
  }
}

function cutTexts(value: Json, maxBytes: number): Json {
  if (typeof value === 'string') return headOf(value, maxBytes);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => cutTexts(item as Json, maxBytes));
  const entries = Object.entries(value as JsonObject).flatMap(([key, item]): [string, Json][] => {
    const cut = cutTexts(item, maxBytes);
    return typeof item === 'string' && cut !== item
      ? [
          [key, cut],
          [`${key}_truncated`, true],
        ]
      : [[key, cut]];
  });
  return Object.fromEntries(entries);
}

/** Whole characters only. */
function headOf(text: string, maxBytes: number): string {
  if (text.length <= maxBytes / 3 || Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text).subarray(0, maxBytes);
  return new TextDecoder().decode(bytes).replace(/\uFFFD+$/, '');
}
