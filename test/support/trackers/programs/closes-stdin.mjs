// Closes its stdin, or its stdout with `stdout`, and lives on.
import { closeSync } from 'node:fs';
import { note } from './lines.mjs';

note('start');
closeSync(process.argv[2] === 'stdout' ? 1 : 0);
setInterval(() => {}, 1000);
