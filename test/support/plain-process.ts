import { type ChildProcess, spawn } from 'node:child_process';
import type { ContainedProcess, StopResult } from '../../runner/contain/process.js';

/** A `ContainedProcess` without containment, for tests of its users: a shell in its own process group. */
export function plainProcess(script: string, cwd: string, env: NodeJS.ProcessEnv = process.env): ContainedProcess {
  const child = spawn('bash', ['-c', script], { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  if (child.pid === undefined) throw new Error(`could not start: ${script}`);
  const pid = child.pid;
  const { stdin, stdout, stderr } = child;
  stdin.on('error', () => {});
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.on('exit', (code, signal) => resolve({ code, signal }));
  });
  return { pid, stdin, stdout, stderr, channel: null, exited, stop: () => stopGroup(child, pid, exited) };
}

async function stopGroup(child: ChildProcess, pid: number, exited: Promise<unknown>): Promise<StopResult> {
  child.stdin?.end();
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
  await exited;
  child.stdout?.destroy();
  child.stderr?.destroy();
  return { gone: true, swept: 0 };
}
