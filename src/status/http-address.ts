import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fieldsOf } from '../domain/fields.js';
import { isLoopback } from './guard.js';
import { readPrivateFile, writePrivateFile } from './private-file.js';

/** Where the daemon of a state directory listens, for commands that want to ask it. There as long as it does. */
export interface HttpAddress {
  readonly url: string;
  readonly pid: number;
}

export async function writeHttpAddress(stateDir: string, { url, pid }: HttpAddress): Promise<void> {
  await writePrivateFile(pathIn(stateDir), `${JSON.stringify({ url, pid, begun: await beginOf(pid) })}\n`);
}

export function removeHttpAddress(stateDir: string): Promise<void> {
  return rm(pathIn(stateDir), { force: true });
}

/**
 * `null`: no daemon listens. A killed one leaves its address behind, and somebody else may listen there by now who must not be
 * shown the token: its process is asked for first, and when that began, as the number may be another's by now.
 */
export async function readHttpAddress(stateDir: string): Promise<HttpAddress | null> {
  const found = await readPrivateFile(pathIn(stateDir)).catch(() => null);
  if (found === null || !('text' in found)) return null;
  const { url, pid, begun } = fieldsOf(jsonOf(found.text));
  if (typeof url !== 'string' || !isNear(url) || typeof pid !== 'number' || !isAlive(pid)) return null;
  return begun === (await beginOf(pid)) ? { url, pid } : null;
}

function pathIn(stateDir: string): string {
  return join(stateDir, 'http-address');
}

function isNear(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && isLoopback(hostname);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** One of another user is not the daemon either; 0 and below mean many. */
function isAlive(pid: number): boolean {
  try {
    return Number.isSafeInteger(pid) && pid > 0 && process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** When a process began, in ticks since the boot; `null` where the system does not tell. */
async function beginOf(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  // The name of the program stands in parentheses and may hold anything.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
}
