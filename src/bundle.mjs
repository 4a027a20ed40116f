// Bundles the compiled modules into a few files, because loading hundreds of modules more than doubles the start time of a command. The
// entries keep their paths and load their code from dist/chunks. These are CommonJS modules, which Node.js loads with half of the work.
// Packages are bundled with their licences, except the one with native code.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { rolldown } from 'rolldown';
import { forgetOldFiles } from './forget-old-files.mjs';

const ENTRIES = ['src/main', 'src/demo/agent', 'runner/git/program'];
/** Old chunks are kept for a while: a daemon that was started before a build loads its chunks when it first needs them. */
const KEEP_MS = 7 * 24 * 3_600_000;

export async function bundle(dist) {
  const chunks = join(dist, 'chunks');
  const bundled = await rolldown({
    input: Object.fromEntries(ENTRIES.map((entry) => [entry, join(dist, `${entry}.js`)])),
    platform: 'node',
    external: [/^@photostructure\/sqlite/],
    plugins: [keepPaths(dist)],
    // A module that is imported both lazily and statically is loaded at the start.
    checks: { ineffectiveDynamicImport: false },
  });
  try {
    const { output } = await bundled.write({
      ...{ dir: dist, format: 'cjs', strict: true },
      entryFileNames: ({ name }) => `chunks/${basename(name)}-[hash].cjs`,
      chunkFileNames: 'chunks/[name]-[hash].cjs',
    });
    for (const { name, fileName } of output.filter(({ isEntry }) => isEntry))
      writeFileSync(join(dist, `${name}.js`), loaderOf(relative(dirname(name), fileName)));
    forgetOldFiles(chunks, new Set(output.map(({ fileName }) => basename(fileName))), KEEP_MS);
    const packages = new Set(output.flatMap(({ moduleIds = [] }) => moduleIds.flatMap((id) => packageOf(id) ?? [])));
    writeFileSync(
      join(dist, 'THIRD-PARTY-LICENCES.txt'),
      [...packages]
        .sort()
        .map(licenceOf)
        .join(`\n${'-'.repeat(80)}\n\n`),
    );
  } finally {
    await bundled.close();
  }
}

/** The package is one of ES modules, so the file of an entry must be one. */
function loaderOf(chunk) {
  return `#!/usr/bin/env node
import { createRequire } from 'node:module';
createRequire(import.meta.url)(${JSON.stringify(chunk)});
`;
}

/** Files that a module finds relative to itself (templates, scripts, the page) stay at the path that it was compiled to. */
function keepPaths(dist) {
  return {
    name: 'keep-paths',
    transform(code, id) {
      if (!id.startsWith(dist) || !code.includes('import.meta.url')) return null;
      // The output file and its depth are known only when the chunk is written.
      const path = JSON.stringify(relative(dist, id));
      return code.replaceAll('import.meta.url', `new URL(${path}, __DIST__).href`);
    },
    renderChunk(code, { fileName }) {
      if (!code.includes('__DIST__')) return null;
      const up = JSON.stringify(`${relative(dirname(fileName), '.') || '.'}/`);
      return code.replaceAll('__DIST__', `new URL(${up}, require('node:url').pathToFileURL(__filename))`);
    },
  };
}

/** The folder of the package of a module. Returns null for our own modules. */
function packageOf(id) {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? null;
}

function licenceOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((each) => /^(?:licen[cs]e|copying)/i.test(each));
  const text = file === undefined ? `Licence: ${license}` : readFileSync(join(folder, file), 'utf8').trim();
  return `${name} ${version}\n\n${text}\n`;
}
