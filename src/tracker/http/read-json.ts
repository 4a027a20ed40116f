import { isAscii, isUtf8 } from 'node:buffer';
import type { BatonError } from '../../domain/errors.js';

/** The body as JSON; `null` for none. `fault` makes the error from what is wrong, which goes on from "the answer …". */
export function readJsonBody(body: Buffer, fault: (problem: string) => BatonError): unknown {
  if (body.length === 0) return null;
  const text = textOf(body);
  try {
    if (text !== null) return JSON.parse(text);
  } catch {
    // Told below.
  }
  throw fault('is not JSON: check the address of the tracker, and whether a proxy or a login page is in between');
}

/** `null`: not UTF-8. Looking first is cheaper than a decoder that fails: most of a large board is plain ASCII. */
function textOf(body: Buffer): string | null {
  if (isAscii(body)) return body.toString('latin1');
  // Some servers mark the order of bytes, which JSON does not know.
  return isUtf8(body) ? body.toString('utf8').replace(/^\ufeff/, '') : null;
}
