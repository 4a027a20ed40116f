import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writePrivateFile } from '../api/access.js';
import type { ApiResponse, Route } from '../api/routes.js';

/** How long a browser has to read the file. */
const FILE_MS = 60_000;

/** The page of this daemon: its address without the token, and the token of this start. */
export interface PageAddress {
  readonly url: string;
  readonly token: string;
}

/**
 * What `baton open` needs. The routes exist over the socket only, because their answers lead to the token.
 *
 * The browser gets the token through a file that only this user can read, because every user of the machine can read the arguments of a
 * program. The file is removed after a minute, and when the daemon starts or ends.
 */
export class OpenPage {
  readonly #path: string;
  readonly #address: () => PageAddress | null;
  #removal: NodeJS.Timeout | null = null;

  constructor(stateDir: string, address: () => PageAddress | null) {
    this.#path = join(stateDir, 'open.html');
    this.#address = address;
  }

  get routes(): readonly Route[] {
    const path = '/api/v1/page';
    return [
      { method: 'GET', path, answer: () => plainJson(this.#address() ?? { url: null, token: '' }) },
      { method: 'POST', path: `${path}/file`, answer: async () => plainJson({ file: await this.#write() }) },
    ];
  }

  /** Removes the file, also one that a killed daemon left. */
  async clear(): Promise<void> {
    if (this.#removal) clearTimeout(this.#removal);
    // A file that cannot be removed leads nowhere: its token ends with its daemon.
    await rm(this.#path, { force: true }).catch(() => {});
  }

  /** The path of a file that leads a browser to the page; null when there is no page. */
  async #write(): Promise<string | null> {
    const address = this.#address();
    if (address === null) return null;
    await writePrivateFile(this.#path, redirectTo(addressWithToken(address)));
    if (this.#removal) clearTimeout(this.#removal);
    this.#removal = setTimeout(() => void this.clear(), FILE_MS).unref();
    return this.#path;
  }
}

/** A browser never sends the fragment, so the token gets into no log. */
export function addressWithToken({ url, token }: PageAddress): string {
  return `${url.replace(/\/$/, '')}/#token=${encodeURIComponent(token)}`;
}

function redirectTo(address: string): string {
  return `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${address}">
<title>Baton</title>
<p><a href="${address}">Open Baton</a></p>
`;
}

/** As text: in JSON answers the token would be masked like any other secret. */
function plainJson(body: object): ApiResponse {
  return {
    status: 200,
    text: `${JSON.stringify(body)}\n`,
    headers: { 'content-type': 'application/json; charset=utf-8' },
  };
}
