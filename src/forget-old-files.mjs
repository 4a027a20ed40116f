import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Removes files that are older than `maxAgeMs` and not in `current`, a set of names. */
export function forgetOldFiles(folder, current, maxAgeMs) {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    if (!current.has(name) && Date.now() - statSync(file).mtimeMs > maxAgeMs) rmSync(file);
  }
}
