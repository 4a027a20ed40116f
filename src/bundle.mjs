// Puts what is compiled into a few files: a command that reads six hundred small ones takes more than twice as long to begin. The entries
// keep their places, everything else goes to dist/chunks. Packages are taken in, too, with their licences; but not the one with native code.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { rolldown } from 'rolldown';
import { forgetOldFiles } from './forget-old-files.mjs';

const ENTRIES = ['src/main', 'src/demo/agent'];
/** A daemon that was started before a build still loads chunks of its own when it first needs them. */
const KEEP_MS = 7 * 24 * 3_600_000;

export async function bundle(dist) {
  const chunks = join(dist, 'chunks');
  const bundled = await rolldown({
    input: Object.fromEntries(ENTRIES.map((entry) => [entry, join(dist, `${entry}.js`)])),
    platform: 'node',
    external: [/^@photostructure\/sqlite/],
    plugins: [keepPlaces(dist)],
    // A module that is loaded late in one place and early in another is simply loaded early.
    checks: { ineffectiveDynamicImport: false },
  });
  try {
    const { output } = await bundled.write({
      ...{ dir: dist, format: 'esm' },
      ...{ entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' },
    });
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

/** What a module looks for beside itself (templates, scripts, the page) is still where it was compiled to. */
function keepPlaces(dist) {
  return {
    name: 'keep-places',
    transform(code, id) {
      if (!id.startsWith(dist) || !code.includes('import.meta.url')) return null;
      // In which file it ends up, and how deep that lies, is known only when the chunk is written.
      const place = JSON.stringify(relative(dist, id));
      return code.replaceAll('import.meta.url', `new URL(${place}, __DIST__).href`);
    },
    renderChunk(code, { fileName }) {
      if (!code.includes('__DIST__')) return null;
      const up = JSON.stringify(`${relative(dirname(fileName), '.') || '.'}/`);
      return code.replaceAll('__DIST__', `new URL(${up}, import.meta.url)`);
    },
  };
}

/** The folder of the package that a module belongs to; `null`: it is ours. */
function packageOf(id) {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? null;
}

function licenceOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((each) => /^(?:licen[cs]e|copying)/i.test(each));
  const text = file === undefined ? `Licence: ${license}` : readFileSync(join(folder, file), 'utf8').trim();
  return `${name} ${version}\n\n${text}\n`;
}
