import type { Json, JsonObject } from '../../src/domain/json.js';

const PREVIEW_BYTES = 1_000;
/** An output can hold several texts, such as stdout and stderr. Together they may be this many times larger than one. */
const MAX_TEXTS = 4;

/**
 * The part of an output that later steps see. Texts longer than `maxBytes` are cut. A member of an object is marked by a member beside it
 * (`stdout_truncated: true`); a bare text, or one in a list, by its last line. An output that is still too large is replaced by its
 * beginning. The transcript keeps the whole output. Pure; the result survives a round trip through JSON.
 */
export function cutOutput(output: unknown, maxBytes: number): Json {
  const whole = toJson(output);
  const cut = cutTexts(whole, maxBytes);
  const text = JSON.stringify(cut);
  if (Buffer.byteLength(text) <= maxBytes * MAX_TEXTS || typeof cut === 'string') return cut;
  return beginningOf(text, Buffer.byteLength(JSON.stringify(whole)), maxBytes);
}

/** Collects the outputs of branches in their order. Once they are too large together, further outputs are dropped. */
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
    return this.#bytes <= this.maxBytes * MAX_TEXTS;
  }
}

function beginningOf(text: string, bytes: number, maxBytes: number): Json {
  return { truncated: true, bytes, preview: headOf(text, Math.min(maxBytes, PREVIEW_BYTES)) };
}

/** Numbers that JSON does not know become null; members that it does not know are dropped. */
function toJson(value: unknown): Json {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? null : (JSON.parse(text) as Json);
  } catch {
    return null; // A cycle or a BigInt. No executor returns one, and none may break a run with it.
  }
}

function cutTexts(value: Json, maxBytes: number): Json {
  if (typeof value === 'string') return markedHeadOf(value, maxBytes);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => cutTexts(item as Json, maxBytes));
  const members: [string, Json][] = [];
  const marks: [string, Json][] = [];
  for (const [key, item] of Object.entries(value as JsonObject)) {
    const cut = typeof item === 'string' ? headOf(item, maxBytes) : cutTexts(item, maxBytes);
    members.push([key, cut]);
    if (typeof item === 'string' && cut !== item) marks.push([`${key}_truncated`, true]);
  }
  // Last, because the output can have such a member itself, with the value of the service.
  return Object.fromEntries([...members, ...marks]);
}

/** With its mark, a cut text is within the limit: outputs pass here again inside those of other steps, and must keep the mark. */
function markedHeadOf(text: string, maxBytes: number): string {
  if (headOf(text, maxBytes) === text) return text;
  const bytes = Buffer.byteLength(text);
  const mark = (kept: number) => `\n[truncated: ${kept} of ${bytes} bytes]`;
  const head = headOf(text, Math.max(0, maxBytes - mark(maxBytes).length));
  return head + mark(Buffer.byteLength(head));
}

/** Cuts between characters. */
function headOf(text: string, maxBytes: number): string {
  if (text.length <= maxBytes / 3 || Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text).subarray(0, maxBytes);
  return new TextDecoder().decode(bytes).replace(/\uFFFD+$/, '');
}
