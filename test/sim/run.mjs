// Compiles the simulation beside itself and plays it: npm run test:sim [-- --seed N | --runs N | --long | --from SEED | --verbose]
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));
execFileSync(process.execPath, [tsc, '-p', here], { stdio: 'inherit' });
await import('./out/test/sim/main.js');
