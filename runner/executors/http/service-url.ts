import { BatonError } from '../../../src/domain/errors.js';

/** Throws `BatonError` when a part cannot stand for itself in a path. */
export function urlBelow(base: URL, parts: readonly string[]): URL {
  const unusable = parts.find((part) => !isPathPart(part));
  if (unusable !== undefined) {
    throw new BatonError('JobValidation', `${JSON.stringify(unusable)} cannot be part of a URL: give it another name`);
  }
  const url = new URL(base);
  url.pathname = `${base.pathname.replace(/\/$/, '')}/${parts.map(encodeURIComponent).join('/')}`;
  return url;
}

/** Dots mean a folder even when they are encoded, so that nothing can be called that way; half a surrogate cannot be encoded. */
export function isPathPart(part: string): boolean {
  return !/^\.{0,2}$/.test(part) && !/\p{Surrogate}/u.test(part);
}

/** Where a `Location` leads; `null` when that is not on the same origin and below `base`. */
export function locationBelow(base: URL, written: string, from: URL): URL | null {
  if (!URL.canParse(written, from.href)) return null;
  const url = new URL(written, from);
  const folder = `${base.pathname.replace(/\/$/, '')}/`;
  const isInside = url.origin === base.origin && url.pathname.startsWith(folder) && !climbs(url.pathname);
  if (!isInside || url.username !== '' || url.password !== '') return null;
  url.hash = '';
  return url;
}

/** Plain dots are resolved by now. Encoded slashes between dots would be resolved by whoever decodes them first. */
function climbs(pathname: string): boolean {
  try {
    return decodeURIComponent(pathname)
      .split(/[/\\]/)
      .some((part) => part === '..');
  } catch {
    return true;
  }
}

const MAX_ID_LENGTH = 200;

/** Is this an id that a service gave to something of its own, and that can stand in a path? */
export function isServiceId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_ID_LENGTH && isPathPart(value);
}
