import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** A script under `bash -c` in its own process group: enough of a contained process for tests of hooks. */
export async function startScript(script: string, options: { cwd: string; env: { readonly [name: string]: string } }) {
  const child = spawn('bash', ['-c', script], { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('error', () => resolve({ code: 127, signal: null }));
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  await new Promise<void>((resolve) => child.once('spawn', resolve).once('error', () => resolve()));
  let stops = 0;
  return {
    pid: child.pid ?? 0,
    exited,
    stdout: child.stdout,
    stderr: child.stderr,
    stops: () => stops,
    async stop() {
      stops += 1;
      try {
        process.kill(-(child.pid ?? 0), 'SIGKILL');
      } catch {
        // The group is empty.
      }
      await exited;
      // Killed is not dead yet: the kernel ends orphans in its own time.
      while (groupIsAlive(child.pid ?? 0)) await new Promise((resolve) => setImmediate(resolve));
      child.stdout.destroy();
      child.stderr.destroy();
      return { gone: true as const, swept: 0 };
    },
  };
}

export type ScriptProcess = Awaited<ReturnType<typeof startScript>>;

/** Reads to the end of the streams, or to the end of the script when `stop()` cut them off. Keeps the last 64 kB. */
export async function readOutput(process: ScriptProcess) {
  const read = async (stream: NodeJS.ReadableStream) => {
    let text = '';
    try {
      for await (const chunk of stream) text = (text + String(chunk)).slice(-65_536);
    } catch {
      // Destroyed by stop(): the output so far counts.
    }
    return text;
  };
  const [stdout, stderr, status] = await Promise.all([read(process.stdout), read(process.stderr), process.exited]);
  return { stdout, stderr, truncated: false, status };
}

export function isAlive(pid: number): boolean {
  return factsOf(pid) !== null;
}

function groupIsAlive(group: number): boolean {
  return readdirSync('/proc').some((name) => /^\d+$/.test(name) && factsOf(Number(name))?.group === group);
}

/** Killed orphans may linger as zombies, so the state counts, not the entry in /proc. */
function factsOf(pid: number): { group: number } | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : { group: Number(fields[2]) };
  } catch {
    return null; // gone
  }
}
