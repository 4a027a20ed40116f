import { existsSync, renameSync } from 'node:fs';

/** SQLite keeps part of the data in the files beside: a file without its `-wal` may be missing its latest writes. */
const COMPANIONS = ['', '-wal', '-shm', '-journal'];

/** Moves a database with its companions out of the way, over nothing that is there; where to. */
export function setAside(path: string): string {
  const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
  const wanted = `${path}.corrupt-${time}`;
  let target = wanted;
  for (let number = 2; COMPANIONS.some((end) => existsSync(target + end)); number++) target = `${wanted}-${number}`;
  for (const end of COMPANIONS) if (existsSync(path + end)) renameSync(path + end, target + end);
  return target;
}
