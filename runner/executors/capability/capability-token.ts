import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { fieldsOf, textOf } from '../../../src/domain/fields.js';

/** What a token says about the connection that it lets in. */
export interface TokenClaims {
  /** Side execution id. */
  readonly sub: string;
  readonly threadId: string;
  readonly parentAgentId: string;
  /** Seconds since 1970. */
  readonly exp: number;
}

const HEADER = encode({ alg: 'HS256', typ: 'JWT' });
const MAX_TOKEN_CHARACTERS = 8_192;

/** Signs and reads the tokens of one hub, with a key that never leaves it. */
export class TokenMint {
  readonly #key = randomBytes(32);

  sign(claims: TokenClaims): string {
    const body = `${HEADER}.${encode(claims)}`;
    return `${body}.${this.#signature(body).toString('base64url')}`;
  }

  /** `null`: not one of ours. Whether its time is over is for the caller to say. */
  read(token: string): TokenClaims | null {
    if (token.length > MAX_TOKEN_CHARACTERS) return null;
    const [header, payload, signature, ...rest] = token.split('.');
    // Only the header that we write: no other algorithm is ever looked at.
    if (header !== HEADER || payload === undefined || signature === undefined || rest.length > 0) return null;
    const given = Buffer.from(signature, 'base64url');
    const right = this.#signature(`${header}.${payload}`);
    if (given.length !== right.length || !timingSafeEqual(given, right)) return null;
    return claimsOf(payload);
  }

  #signature(body: string): Buffer {
    return createHmac('sha256', this.#key).update(body).digest();
  }
}

function claimsOf(payload: string): TokenClaims | null {
  const { sub, threadId, parentAgentId, exp } = fieldsOf(
    JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')),
  );
  const [id, thread, agent] = [textOf(sub), textOf(threadId), textOf(parentAgentId)];
  if (id === null || thread === null || agent === null || typeof exp !== 'number') return null;
  return { sub: id, threadId: thread, parentAgentId: agent, exp };
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
