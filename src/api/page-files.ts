import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

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
