const MIN_LINE_LENGTH = 16;
const MAX_PIECE_LENGTH = 128;

/** Splits a secret into the pieces to look for: a key of many lines may be printed line by line, and a long piece is slow. Pure. */
export function piecesOf(secret: string): string[] {
  const lines = secret.split(/\r?\n/).filter((line) => line.trim().length >= MIN_LINE_LENGTH);
  const whole = secret.length <= MAX_PIECE_LENGTH || lines.length === 0 ? [secret] : [];
  return [...whole, ...lines.map((line) => line.trim())].flatMap(splitEvenly);
}

function splitEvenly(text: string): string[] {
  const characters = Array.from(text);
  const parts = Math.ceil(characters.length / MAX_PIECE_LENGTH);
  const size = Math.ceil(characters.length / parts);
  return Array.from({ length: parts }, (_, part) => characters.slice(part * size, (part + 1) * size).join(''));
}

/**
 * The base64 characters that depend on the secret alone, for each of its three alignments in the encoded bytes. The characters at
 * both ends also contain bits of the neighbouring bytes and are not known. Pure.
 */
export function base64Cores(secret: string): string[] {
  const bytes = utf8Bytes(secret);
  return [0, 1, 2].map((offset) => {
    const encoded = btoa('\0'.repeat(offset) + bytes);
    return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
  });
}

/** The UTF-8 bytes of a text, each as one character: the form that `btoa` takes and `atob` returns. Pure. */
export function utf8Bytes(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('');
}
