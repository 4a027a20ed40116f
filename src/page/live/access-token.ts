/** The token that allows changes. It comes in the fragment of the address that `baton open` prints, which no server ever sees. */
export interface TokenPlace {
  /** `location.hash`. */
  readonly hash: string;
  /** As `sessionStorage`: it ends with the tab. */
  readonly storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;
  /** Takes the token out of the address bar and the history. */
  replaceHash(hash: string): void;
}

interface Storage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

const KEY = 'baton.token';

/** The token of this tab, or `null`. A new one in the address replaces the old one, and is gone from there at once. */
export function takeToken({ hash, storage, replaceHash }: TokenPlace): string | null {
  const given = tokenIn(hash);
  if (given !== null) {
    replaceHash('#/');
    attempt(() => storage.setItem(KEY, given));
    return given;
  }
  return attempt(() => storage.getItem(KEY)) ?? null;
}

export function forgetToken(storage: TokenPlace['storage']): void {
  attempt(() => storage.removeItem(KEY));
}

export function tokenIn(hash: string): string | null {
  const [, token] = /^#token=([^&]+)$/.exec(hash) ?? [];
  return token === undefined ? null : attempt(() => decodeURIComponent(token));
}

/** A browser may forbid storage: then the token lasts as long as the page. What is no encoding is no token. */
function attempt<T>(action: () => T): T | null {
  try {
    return action();
  } catch {
    return null;
  }
}
