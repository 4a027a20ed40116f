import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { agentCommand } from '../../support/test-daemon.js';
import { type World, world } from '../cli-fixture.js';
import { type Place, place, type Started } from '../command.js';

export type LogLine = { readonly msg: string; readonly [field: string]: unknown };

export interface WorkingDaemon {
  readonly lines: readonly LogLine[];
  /** Settles with the first line, past or future, that is so. */
  line(is: (line: LogLine) => boolean): Promise<LogLine>;
  said(msg: string): Promise<LogLine>;
  /** As `kill -9` does. */
  kill(): Promise<void>;
  /** As Ctrl-C does; the exit code. */
  stop(): Promise<number | null>;
}

/** A project on files, with an agent of test/support/agents. */
export function project(script: string, args: readonly string[] = [], settings = ''): Place {
  const here = place();
  here.write('WORKFLOW.md', workflowText(agentCommand(script, ...args), settings));
  return here;
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
  let onLine = () => {};
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
        onLine = resolve;
      });
    }
  };
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    return (await ended).code;
  };
  const said = (msg: string) => line((one) => one.msg === msg);
  await said('started');
  return { lines, line, said, kill: async () => void (await end('SIGKILL')), stop: () => end('SIGINT') };
}

/** A person in the folder of the project, who sits at a terminal. */
export function person(here: Place): World {
  const homeDir = join(here.dir, '../home');
  return { ...world({ isTTY: true }), cwd: here.dir, homeDir, env: { HOME: homeDir } };
}

export interface Received {
  readonly method?: string;
  readonly params: { readonly threadId?: string; readonly input: readonly [{ readonly text: string }] };
  readonly result?: { readonly decision?: string; readonly answers?: object };
}

/** What the agent of an issue was sent, over all its runs. */
export function received({ dir }: Place, identifier = 'TASK-1'): Received[] {
  const text = readFileSync(join(dir, 'workspaces', identifier, 'received.jsonl'), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** What an answer of the daemon tells is on its way to the disk; who is to be killed then is given the moment. */
export async function untilStored(here: Place, text: string | RegExp): Promise<void> {
  const exported = async () => (await here.baton('state', 'export')).stdout;
  await expect.poll(exported, { timeout: 15_000 }).toMatch(text);
}
