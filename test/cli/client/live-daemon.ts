import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type StateView, stateShape } from '../../../src/api/schemas.js';
import { connectDaemon, type DaemonClient } from '../../../src/cli/client.js';
import { demoAgent, type Place, type Result } from '../command.js';

const AGENTS = fileURLToPath(new URL('../../support/agents', import.meta.url));

export interface LiveDaemon {
  readonly client: DaemonClient;
  /** Resolves when the condition holds. */
  state(isLikeThat?: (view: StateView) => boolean): Promise<StateView>;
  /** In order, as Ctrl-C does. */
  stop(): Promise<Result>;
  kill(): Promise<Result>;
}

/** The built daemon at work in a place, from the moment on at which it can be asked. */
export async function liveDaemon(here: Place, ...args: string[]): Promise<LiveDaemon> {
  const { child, ended } = here.start(...args);
  const target = targetOf(args);
  const client = await until('the daemon listens', async () => {
    if (child.exitCode !== null) throw new Error(`the daemon ended: ${(await ended).stderr}`);
    return connectDaemon(target, ioOf(here)).catch(() => undefined);
  });
  const end = (signal: 'SIGINT' | 'SIGKILL') => {
    client.close();
    child.kill(signal);
    return ended;
  };
  return {
    client,
    state: (isLikeThat = () => true) =>
      until('the state is as expected', async () => {
        const view = await client.get('/api/v1/state', stateShape);
        return isLikeThat(view) ? view : undefined;
      }),
    stop: () => end('SIGINT'),
    kill: () => end('SIGKILL'),
  };
}

/** The world of the commands of a place. */
export function ioOf(here: Place) {
  const homeDir = join(here.dir, '..', 'home');
  return { cwd: here.dir, env: { PATH: process.env.PATH, HOME: homeDir }, homeDir };
}

/** Whom the arguments of a daemon name. */
export function targetOf(args: readonly string[]): { workflow?: string; stateDir?: string } {
  const at = args.indexOf('--state-dir');
  const [first] = args;
  return {
    ...(first === undefined || first.startsWith('-') ? {} : { workflow: first }),
    ...(at === -1 ? {} : { stateDir: args[at + 1] ?? '' }),
  };
}

/** Polls `look` until it returns a value, because other processes cannot call back. */
export async function until<T>(what: string, look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  const endMs = performance.now() + 25_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > endMs) throw new Error(`it took too long until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Everything that a process has printed so far. */
export function printed(child: ChildProcess): () => string {
  let text = '';
  child.stdout?.on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text;
}

/** A workflow whose agents ask a person before anything else, and wait. */
export function askingWorkflow(here: Place): void {
  const asks = `node '${AGENTS}/asks.mjs' item/commandExecution/requestApproval '{"itemId":"i","command":"rm -rf index"}'`;
  const codex = JSON.stringify({ command: asks, on_approval_request: 'ask' });
  writeWorkflow(here, codex, 'agent: { input_timeout_ms: 3600000 }');
}

/** A workflow of the demo agent with short intervals. */
export function demoWorkflow(here: Place, settings = ''): void {
  writeWorkflow(here, `{ command: ${demoAgent()} }`, settings);
}

function writeWorkflow(here: Place, codex: string, settings: string): void {
  here.write(
    'WORKFLOW.md',
    `---
tracker: { kind: local }
polling: { interval_ms: 300 }
workspace: { root: ./workspaces, min_free_mb: 1 }
codex: ${codex}
${settings}
---
Work on {{ issue.identifier }}

{{ issue.description }}
`,
  );
}

/** A command that keeps a run going until the test calls `here.write('go', '')`. */
export function untilToldTo(here: Place, then = '- write `hello.txt`: hello'): string {
  return `- run \`until [ -e ${here.dir}/go ]; do sleep 0.05; done\`\n${then}`;
}
