// Compiles the product to dist/ and copies the files that are read at run time beside the code that reads them.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const ASSET_ENDINGS = new Set(['', '.liquid', '.md', '.sh', '.sql']);

execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', root], { stdio: 'inherit' });
for (const folder of ['src', 'orchestrator', 'runner', 'hooks', 'templates']) {
  cpSync(join(root, folder), join(root, 'dist', folder), {
    recursive: true,
    filter: (path) => ASSET_ENDINGS.has(extname(path)) && !path.endsWith('README.md'),
  });
}
chmodSync(join(root, 'dist/src/main.js'), 0o755);
