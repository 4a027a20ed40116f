import { realpathSync } from 'node:fs';
import path from 'node:path';

/** The real path of what is there; missing last parts are kept as they are. */
export function realOrSame(target: string): string {
  try {
    return realpathSync(target);
  } catch {
    const parent = path.dirname(target);
    return parent === target ? target : path.join(realOrSame(parent), path.basename(target));
  }
}
