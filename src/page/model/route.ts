/** The view that the part of the address behind `#` names. */
export type Route =
  | { readonly name: 'board' }
  /** `runId: null`: the newest run. */
  | { readonly name: 'issue'; readonly identifier: string; readonly runId: string | null };

const BOARD: Route = { name: 'board' };

export function parseRoute(hash: string): Route {
  const [, path = '', query = ''] = /^#?\/issue\/([^?]+)(?:\?(.*))?$/.exec(hash) ?? [];
  const identifier = decoded(path);
  if (identifier === null || identifier === '') return BOARD;
  return { name: 'issue', identifier, runId: new URLSearchParams(query).get('run') };
}

export function boardHref(): string {
  return '#/';
}

export function issueHref(identifier: string, runId: string | null = null): string {
  const query = runId === null ? '' : `?run=${encodeURIComponent(runId)}`;
  return `#/issue/${encodeURIComponent(identifier)}${query}`;
}

export function isSameRoute(a: Route, b: Route): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
