// Compiles the product to dist/, copies the files that are read at run time next to their code, builds the page, writes the JSON Schema of
// WORKFLOW.md's front matter for editors, and bundles the modules of the commands.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundle } from './bundle.mjs';
import { buildPage } from './page/build-page.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const ASSET_ENDINGS = new Set(['', '.liquid', '.md', '.mjs', '.mts', '.pl', '.sh', '.sql', '.yaml']);

execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', root], { stdio: 'inherit' });
for (const folder of ['src', 'orchestrator', 'runner', 'hooks', 'templates']) {
  cpSync(join(root, folder), join(root, 'dist', folder), {
    recursive: true,
    filter: (path) =>
      ASSET_ENDINGS.has(extname(path)) &&
      !/(?:README\.md|build\.mjs|bundle\.mjs|forget-old-files\.(?:d\.mts|mjs)|src\/page)$/.test(path),
  });
}
await buildPage(join(root, 'dist/src/page'));

const built = (file) => import(pathToFileURL(join(root, 'dist', file)).href);
const { frontMatterJsonSchema } = await built('src/workflow/json-schema.js');
const { ADAPTERS } = await built('src/tracker/adapters.js');
const schema = frontMatterJsonSchema(ADAPTERS.map((adapter) => adapter.kind));
writeFileSync(join(root, 'dist/workflow.schema.json'), `${JSON.stringify(schema, null, 2)}\n`);

await bundle(join(root, 'dist'));
chmodSync(join(root, 'dist/src/main.js'), 0o755);
