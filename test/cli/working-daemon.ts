import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { connectDaemon } from '../../src/cli/client.js';
import { agentCommand } from '../support/test-daemon.js';
import { type World, world } from './cli-fixture.js';
import { ioOf, targetOf, until } from './client/live-daemon.js';
import { type Place, place, type Result, type Started } from './command.js';

export type LogLine = { readonly msg: string; readonly [field: string]: unknown };

export interface WorkingDaemon {
  readonly lines: readonly LogLine[];
  /** Settles with the first line, past or future, that is so. */
  line(is: (line: LogLine) => boolean): Promise<LogLine>;
  /** `id`: of an issue. */
  said(msg: string, id?: number): Promise<LogLine>;
  /** As `kill -9` does. */
  kill(): Promise<void>;
  /** As Ctrl-C does; the exit code. */
  stop(): Promise<number | null>;
}

/** A project on files, with an agent of test/support/agents. */
export function project(
  script: string,
  args: readonly string[] = [],
  settings = '',
  whenOver?: Parameters<typeof place>[0],
): Place {
  const here = place(whenOver);
  here.write('WORKFLOW.md', workflowText(agentCommand(script, ...args), settings));
  return here;
}

/** A project in which the agent of each issue asks its question in `asks`. */
export function askingProject(settings: string, whenOver?: Parameters<typeof place>[0]): Place {
  const here = place(whenOver);
  here.write('WORKFLOW.md', workflowText('sh ../../questions/$(basename "$PWD").sh', settings));
  return here;
}

/** The method of a request to a person, and its parameters. */
export function asks(here: Place, id: number, question: readonly string[]): void {
  here.write(`questions/TASK-${id}.sh`, `exec ${agentCommand('asks', ...question)}\n`);
  issue(here, id);
}

export function workflowText(command: string, settings = ''): string {
  return `---
tracker: { kind: local, required_labels: [baton] }
polling: { interval_ms: 200 }
workspace: { root: ./workspaces, min_free_mb: 1 }
codex: { command: ${JSON.stringify(command)}, on_approval_request: ask }
${settings}
---
Work on {{ issue.identifier }}
`;
}

export function issue(here: Place, id: number, title = `Title ${id}`, labels = '[baton]', status = 'To Do'): void {
  here.issue(id, title, 'Do it.', `status: ${status}\nlabels: ${labels}`);
}

/** The built daemon in this folder, ready to be asked. */
export async function daemonIn(here: Place, ...args: string[]): Promise<WorkingDaemon> {
  const { child, ended }: Started = here.start('run', ...args);
  const lines: LogLine[] = [];
  let waiting: (() => void)[] = [];
  const onLine = () => {
    const awake = waiting;
    waiting = [];
    for (const wake of awake) wake();
  };
  let isOver = false;
  void ended.then(() => {
    isOver = true;
    onLine();
  });
  if (child.stderr)
    createInterface({ input: child.stderr }).on('line', (text) => {
      if (!text.startsWith('{')) return;
      lines.push(JSON.parse(text));
      onLine();
    });
  const line: WorkingDaemon['line'] = async (is) => {
    for (;;) {
      const found = lines.find(is);
      if (found) return found;
      if (isOver) throw new Error(`the daemon ended without that line:\n${lines.map(({ msg }) => msg).join('\n')}`);
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
      });
    }
  };
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    return (await ended).code;
  };
  const said = (msg: string, id?: number) =>
    line((one) => one.msg === msg && (id === undefined || one.issue_identifier === `TASK-${id}`));
  await said('started');
  // It listens a moment later.
  await until('the daemon listens', async () => {
    const client = await connectDaemon(targetOf(args), ioOf(here)).catch(() => undefined);
    client?.close();
    return client;
  });
  return { lines, line, said, kill: async () => void (await end('SIGKILL')), stop: () => end('SIGINT') };
}

/** A user at a terminal in the folder of the project. */
export function person(here: Place): World {
  return { ...script(here), isTTY: true };
}

/** The same without a terminal. In this process: most tests need not wait for a program to start. */
export function script(here: Place): World {
  const homeDir = join(here.dir, '../home');
  return { ...world(), cwd: here.dir, homeDir, env: { HOME: homeDir } };
}

/** The output of a command, and its exit code. */
export async function told(here: Place, command: (io: World) => Promise<number>): Promise<Result> {
  const io = script(here);
  const code = await command(io);
  return { code, stdout: io.out(), stderr: io.err() };
}

export interface Received {
  readonly method?: string;
  readonly params: { readonly threadId?: string; readonly input: readonly [{ readonly text: string }] };
  readonly result?: { readonly decision?: string; readonly answers?: object };
}

/** The messages that the agent of an issue received in all its runs. */
export function received({ dir }: Place, identifier = 'TASK-1'): Received[] {
  const text = readFileSync(join(dir, 'workspaces', identifier, 'received.jsonl'), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** The daemon may respond before its write reaches the disk. Waits for that write before a test kills the daemon. */
export async function untilStored(here: Place, text: string | RegExp): Promise<void> {
  const exported = async () => (await here.baton('state', 'export')).stdout;
  await expect.poll(exported, { timeout: 15_000 }).toMatch(text);
}
