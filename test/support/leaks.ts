import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exportState } from '../../src/store/read-stored.js';
import type { TestDaemon } from './test-daemon.js';

/** A secret in its JSON, URI and base64 forms, at any offset in the encoded text. */
export function spellingsOf(secret: string): readonly string[] {
  const base64 = (offset: number) =>
    Buffer.concat([Buffer.from('x'.repeat(offset)), Buffer.from(secret)])
      .toString('base64')
      .slice(4, -4);
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    base64(0),
    base64(1),
    base64(2),
    Buffer.from(secret).toString('base64url').slice(4, -4),
  ];
}

/** Everything that can be read of a daemon with `server.port`, by where it stands; stops it. */
export async function writtenBy(daemon: TestDaemon, identifier: string): Promise<ReadonlyMap<string, string>> {
  const written = new Map<string, string>();
  for (const path of ['/api/v1/state', `/api/v1/issues/${encodeURIComponent(identifier)}`, '/'])
    written.set(path, await (await daemon.request(path)).text());
  await daemon.stop();
  const folder = join(daemon.stateDir, 'transcripts');
  for (const name of await readdir(folder)) written.set(name, await readFile(join(folder, name), 'utf8'));
  written.set('the log', JSON.stringify(daemon.logLines));
  written.set('the store', JSON.stringify(await exportState(daemon.stateDir)));
  return written;
}
