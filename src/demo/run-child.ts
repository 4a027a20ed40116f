import { spawn } from 'node:child_process';

export interface ChildOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly input?: string;
  readonly signal?: AbortSignal;
}

export interface ChildResult {
  /** 124 after the time limit, as with `timeout`; 137 when it was killed. */
  readonly exitCode: number;
  readonly stdout: string;
  /** stdout and stderr in the order of arrival. */
  readonly output: string;
  readonly durationMs: number;
}

const LIMIT_MS = 60_000;
const TIMED_OUT = 124;
const KILLED = 137;
const MAX_OUTPUT = 64_000;
/** A process that left the group may hold the output open for ever. */
const DRAIN_MS = 250;

/** Runs a program in its own process group, with bounded time and output, and kills the group at its end. Rejects only when the program cannot be started. */
export function runChild(file: string, args: readonly string[], options: ChildOptions): Promise<ChildResult> {
  const { cwd, env, input, signal } = options;
  const beganMs = performance.now();
  const child = spawn(file, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  const stdout = new BoundedText();
  const output = new BoundedText();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout.add(text);
    output.add(text);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => output.add(text));
  // A program may ignore its input.
  child.stdin.on('error', () => {});
  child.stdin.end(input ?? '');

  const kill = () => killGroup(child.pid);
  let isLate = false;
  const limit = setTimeout(() => {
    isLate = true;
    kill();
  }, LIMIT_MS);
  signal?.addEventListener('abort', kill, { once: true });
  if (signal?.aborted) kill();

  return new Promise<ChildResult>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => {
      kill();
      const drain = setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, DRAIN_MS);
      child.on('close', () => {
        clearTimeout(drain);
        resolve({
          exitCode: isLate ? TIMED_OUT : (code ?? KILLED),
          stdout: stdout.text,
          output: output.text,
          durationMs: Math.round(performance.now() - beganMs),
        });
      });
    });
  }).finally(() => {
    clearTimeout(limit);
    signal?.removeEventListener('abort', kill);
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has no process any more.
  }
}

class BoundedText {
  #text = '';
  #lost = 0;

  add(text: string): void {
    const kept = text.slice(0, Math.max(0, MAX_OUTPUT - this.#text.length));
    this.#text += kept;
    this.#lost += text.length - kept.length;
  }

  get text(): string {
    return this.#lost === 0 ? this.#text : `${this.#text}\n… (${this.#lost} more characters)\n`;
  }
}
