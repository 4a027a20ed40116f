// Builds the page into <root>/dist/src/page: index.html, and what it needs under assets/, named by its content so that it may be
// cached for ever. Everything is a separate file, because the page allows no inline scripts or styles.
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const here = fileURLToPath(new URL('./', import.meta.url));

export async function buildPage(outDir) {
  await build({
    root: here,
    configFile: false,
    logLevel: 'warn',
    // Relative addresses: it also works behind a path of a proxy.
    base: './',
    publicDir: false,
    build: {
      outDir,
      emptyOutDir: true,
      target: ['chrome123', 'firefox128', 'safari18'],
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
    },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  });
}
