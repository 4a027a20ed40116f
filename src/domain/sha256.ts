/** SHA-256 of a text in UTF-8, as lower-case hex. Written here because `domain/` also runs in browsers, whose own digest is asynchronous. Pure. */
export function sha256(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const blocks = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / 64) * 64));
  for (const [at, byte] of bytes.entries()) blocks.setUint8(at, byte);
  blocks.setUint8(bytes.length, 0x80);
  blocks.setBigUint64(blocks.byteLength - 8, BigInt(bytes.length) * 8n);
  const hash = Uint32Array.from(INITIAL);
  for (let at = 0; at < blocks.byteLength; at += 64) addBlock(hash, blocks, at);
  return Array.from(hash, (word) => word.toString(16).padStart(8, '0')).join('');
}

function addBlock(hash: Uint32Array, blocks: DataView, start: number): void {
  const words = new Uint32Array(64);
  const word = (n: number) => words[n] as number;
  for (let n = 0; n < 16; n++) words[n] = blocks.getUint32(start + n * 4);
  for (let n = 16; n < 64; n++) {
    const [a, b] = [word(n - 15), word(n - 2)];
    const low = rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3);
    const high = rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10);
    words[n] = word(n - 16) + low + word(n - 7) + high;
  }
  let [a, b, c, d, e, f, g, h] = hash as unknown as [number, number, number, number, number, number, number, number];
  for (let n = 0; n < 64; n++) {
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + (ROUNDS[n] as number) + word(n);
    const second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  for (const [n, value] of [a, b, c, d, e, f, g, h].entries()) hash[n] = (hash[n] as number) + value;
}

function rotate(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

const PRIMES = firstPrimes(64);
/** The first 32 bits of the fractions of the square roots of the first 8 primes. */
const INITIAL = PRIMES.slice(0, 8).map((prime) => fractionBits(prime, 2n));
/** The first 32 bits of the fractions of the cube roots of the first 64 primes. */
const ROUNDS = PRIMES.map((prime) => fractionBits(prime, 3n));

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  return primes;
}

/** Exact, because `Math.cbrt` may differ between engines in the last bit. */
function fractionBits(prime: number, root: bigint): number {
  const scaled = BigInt(prime) << (32n * root);
  let [low, high] = [0n, 1n << 40n];
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (middle ** root <= scaled) low = middle;
    else high = middle;
  }
  return Number(low & 0xffff_ffffn);
}
