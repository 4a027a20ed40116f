/**
 * How a server proves that it knows the token, so that a client sends the token to no other program that has taken the port.
 *
 * The client sends a nonce. The server answers with an HMAC of the nonce and of the host that the client named. The host is part of it, so
 * that a program on another port cannot pass on the proof of the daemon. The key is stretched, because a `server.token` may be easy to
 * guess for a program that has a proof. It uses Web Crypto, which browsers and Node share.
 */
export type Prover = (host: string, nonce: string) => Promise<string>;

const SALT = 'baton proof';
const ITERATIONS = 100_000;
const HASH = 'SHA-256';

/** Takes some 50 ms, once for a token. */
export async function createProver(token: string): Promise<Prover> {
  const { subtle } = globalThis.crypto;
  const secret = await subtle.importKey('raw', bytesOf(token), 'PBKDF2', false, ['deriveKey']);
  const derivation = { name: 'PBKDF2', hash: HASH, salt: bytesOf(SALT), iterations: ITERATIONS };
  const key = await subtle.deriveKey(derivation, secret, { name: 'HMAC', hash: HASH, length: 256 }, false, ['sign']);
  return async (host, nonce) => {
    const mac = await subtle.sign('HMAC', key, bytesOf(`${host.toLowerCase()}\n${nonce}`));
    return hexOf(new Uint8Array(mac));
  };
}

/** Unguessable and never repeated, so that an old proof is useless. */
export function createNonce(): string {
  return hexOf(globalThis.crypto.getRandomValues(new Uint8Array(16)));
}

export function isNonce(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

/** Relative to the address of the page. */
export function proofPath(nonce: string): string {
  return `api/v1/proof?nonce=${nonce}`;
}

/** Whether an answer to `proofPath` contains this proof. */
export function containsProof(answer: unknown, proof: string): boolean {
  const { proofs } = (answer ?? {}) as { readonly proofs?: unknown };
  return Array.isArray(proofs) && proofs.includes(proof);
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
