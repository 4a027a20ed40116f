import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ApiResponse, type Route, refusal } from './routes.js';

/** The page may only talk to this server. */
const PAGE_POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** The page is public: it has no data and requests everything from the API. */
export function pageRoutes(files: PageFiles): readonly Route[] {
  const routes = [...files].map(([path, file]): Route => {
    return { method: 'GET', path, needs: 'public', answer: () => fileAnswer(path, file) };
  });
  return files.has('/') ? routes : [{ method: 'GET', path: '/', needs: 'public', answer: () => NOT_BUILT }];
}

function fileAnswer(path: string, { type, bytes }: PageFile): ApiResponse {
  // The names of assets contain a hash of their content.
  const caching = path === '/' ? 'no-cache' : 'public, max-age=31536000, immutable';
  return {
    status: 200,
    text: bytes,
    headers: { 'content-type': type, 'content-security-policy': PAGE_POLICY, 'cache-control': caching },
  };
}

const NOT_BUILT = refusal(503, 'not_built', 'The page is not built. Run npm run build. The API works without it.');

export interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
}

/** By path: `/` and `/assets/…`. */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** In a build the page lies beside this file; when run from the sources, in the last build. */
const FOLDERS = [new URL('../page/', import.meta.url), new URL('../../dist/src/page/', import.meta.url)];

const TYPES: { readonly [ending: string]: string } = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** Reads all files once, so that no request can name a file. Empty when the page is not built. */
export async function readPageFiles(): Promise<PageFiles> {
  for (const folder of FOLDERS) {
    const files = await readFolder(fileURLToPath(folder)).catch(() => null);
    if (files !== null) return files;
  }
  return new Map();
}

async function readFolder(folder: string): Promise<PageFiles> {
  const names = await readdir(join(folder, 'assets'));
  const paths = ['index.html', ...names.map((name) => `assets/${name}`)];
  const files = await Promise.all(
    paths.flatMap((path) => {
      const type = TYPES[extname(path)];
      return type === undefined ? [] : [readFile(join(folder, path)).then((bytes) => [path, { type, bytes }] as const)];
    }),
  );
  return new Map(files.map(([path, file]) => [path === 'index.html' ? '/' : `/${path}`, file]));
}
