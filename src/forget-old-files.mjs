import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Removes what has been in a folder for longer than that and is not `current`, a set of names. */
export function forgetOldFiles(folder, current, maxAgeMs) {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    if (!current.has(name) && Date.now() - statSync(file).mtimeMs > maxAgeMs) rmSync(file);
  }
}
