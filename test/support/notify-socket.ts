import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const child = (name: string) => fileURLToPath(new URL(`children/${name}`, import.meta.url));
export const SENDER = child('send-datagram.pl');
export const LAUNCHER = fileURLToPath(new URL('../../src/cli/service/launch.pl', import.meta.url));

export interface NotifySocket {
  /** For NOTIFY_SOCKET. */
  readonly path: string;
  /** The next notice, with the sender's pid as the kernel reports it. */
  next(): Promise<{ readonly pid: number; readonly text: string }>;
}

/** A socket for notices, as systemd has one. */
export async function notifySocket({ isAbstract = false } = {}): Promise<NotifySocket> {
  const base = mkdtempSync(join(tmpdir(), 'baton-notify-'));
  const path = isAbstract ? `@${base}` : join(base, 'socket');
  const listener = spawn('perl', [child('datagrams.pl'), path], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => {
    listener.kill();
    rmSync(base, { recursive: true, force: true });
  });
  const lines = createInterface({ input: listener.stdout })[Symbol.asyncIterator]();
  await lines.next();
  return {
    path,
    async next() {
      const [, pid, text = ''] = /^(\d+) (.*)$/.exec(String((await lines.next()).value)) ?? [];
      return { pid: Number(pid), text };
    },
  };
}
