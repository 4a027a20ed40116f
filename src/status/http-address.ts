import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fieldsOf } from '../domain/fields.js';
import { isLoopback } from './guard.js';
import { readPrivateFile, writePrivateFile } from './private-file.js';

/** Where the daemon of a state directory listens, for commands that want to ask it. There as long as it does. */
export interface HttpAddress {
  readonly url: string;
  readonly pid: number;
}

export function writeHttpAddress(stateDir: string, address: HttpAddress): Promise<void> {
  return writePrivateFile(pathIn(stateDir), `${JSON.stringify(address)}\n`);
}

export function removeHttpAddress(stateDir: string): Promise<void> {
  return rm(pathIn(stateDir), { force: true });
}

/**
 * `null`: no daemon listens. A killed one leaves its address behind, and somebody else may listen there by now who must not be
 * shown the token: its process is asked for first.
 */
export async function readHttpAddress(stateDir: string): Promise<HttpAddress | null> {
  const found = await readPrivateFile(pathIn(stateDir)).catch(() => null);
  if (found === null || !('text' in found)) return null;
  const address = addressOf(found.text);
  return address !== null && isAlive(address.pid) ? address : null;
}

function pathIn(stateDir: string): string {
  return join(stateDir, 'http-address');
}

function addressOf(text: string): HttpAddress | null {
  const { url, pid } = fieldsOf(jsonOf(text));
  if (typeof url !== 'string' || !URL.canParse(url) || !Number.isSafeInteger(pid) || Number(pid) <= 0) return null;
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && isLoopback(hostname) ? { url, pid: Number(pid) } : null;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** One of another user is not the daemon either. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
