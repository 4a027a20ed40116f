/** A path of a REST API that an agent wrote, taken apart: decoded segments, and the query as written. */
export interface RestPath {
  readonly segments: readonly string[];
  /** With its `?`, or empty. */
  readonly query: string;
}

/** The path, or what is wrong with it. Whatever could lead out of a scope when somebody else reads it is refused. */
export function parseRestPath(written: string): RestPath | string {
  if (!written.startsWith('/') || written.startsWith('//')) return 'path must begin with one slash';
  if (written.length > 2_000) return 'path is too long';
  // It cannot be encoded, and would be replaced by something else on its way.
  if (/\p{Cs}/u.test(written)) return 'path holds half a character';
  const at = written.indexOf('?');
  const path = at === -1 ? written : written.slice(0, at);
  const query = at === -1 ? '' : written.slice(at);
  if (/[\\#\s\p{Cc}]/u.test(path) || /[#\s\p{Cc}]/u.test(query)) return 'path holds characters that no path has';
  const segments: string[] = [];
  for (const part of path.slice(1).split('/')) {
    const segment = decoded(part);
    if (segment === null) return `path holds the part ${JSON.stringify(part)}, which is no valid part of a path`;
    segments.push(segment);
  }
  // One slash at the end means nothing.
  if (segments.at(-1) === '') segments.pop();
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..'))
    return 'path holds empty parts or dots';
  return { segments, query };
}

export function writeRestPath(segments: readonly string[]): string {
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join('');
}

function decoded(part: string): string | null {
  try {
    const once = decodeURIComponent(part);
    // Encoded twice, it would mean something else to whoever decodes it once more.
    return /%[0-9a-f]{2}/i.test(once) || /[\\\p{Cc}]/u.test(once) ? null : once;
  } catch {
    return null;
  }
}
