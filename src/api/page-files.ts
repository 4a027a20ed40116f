import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ApiResponse, type Route, refusal } from './routes.js';

/** What the page may do: talk to us, and nothing else. */
const PAGE_POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** Whoever may connect may have the page: it holds nothing, and asks for everything itself. */
export function pageRoutes(files: PageFiles): readonly Route[] {
  const routes = [...files].map(([path, file]): Route => {
    return { method: 'GET', path, needs: 'public', answer: () => fileAnswer(path, file) };
  });
  return files.has('/') ? routes : [{ method: 'GET', path: '/', needs: 'public', answer: () => NOT_BUILT }];
}

function fileAnswer(path: string, { type, bytes }: PageFile): ApiResponse {
  // The name of an asset changes with its content.
  const caching = path === '/' ? 'no-cache' : 'public, max-age=31536000, immutable';
  return {
    status: 200,
    text: bytes,
    headers: { 'content-type': type, 'content-security-policy': PAGE_POLICY, 'cache-control': caching },
  };
}

const NOT_BUILT = refusal(503, 'not_built', 'The page was not built: run npm run build. The API is there.');

export interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
}

/** What the page is made of, by path: `/` and `/assets/…`. */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** Built beside this file; from the sources, by the last build. */
const FOLDERS = [new URL('../page/', import.meta.url), new URL('../../dist/src/page/', import.meta.url)];

const TYPES: { readonly [ending: string]: string } = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** All of it, once: it is small, and no request then names a file. Empty where it was not built. */
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
