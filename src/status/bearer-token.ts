import { createHash, timingSafeEqual } from 'node:crypto';

/** Is it `Bearer <token>`? Takes the same time for every wrong one. */
export function bearsToken(authorization: string | undefined, token: string): boolean {
  const given = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}

/** Of one length, whatever was sent. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
