import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const MAIN = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
const DEMO_AGENT = fileURLToPath(new URL('../../dist/src/demo/agent.js', import.meta.url));

export interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Place {
  readonly dir: string;
  /** The built command, as a person calls it in this folder. */
  baton(...args: string[]): Promise<Result>;
  /** The same with its standard output in an open file. */
  to(stdout: number, ...args: string[]): Promise<Result>;
  /** The same with other variables. */
  with(env: { readonly [name: string]: string }, ...args: string[]): Promise<Result>;
  start(...args: string[]): Started;
  /** The same with other variables. */
  startWith(env: { readonly [name: string]: string }, ...args: string[]): Started;
  write(name: string, text: string): void;
  read(name: string): string;
  /** A WORKFLOW.md on the local tracker with the demo agent. */
  workflow(settings?: string): void;
  issue(id: number, title: string, body: string, extra?: string): void;
}

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Result>;
}

/** An empty folder and a new home, deleted in `whenOver`: after the test, or after the file with `afterAll`. */
export function place(whenOver: (undo: () => void) => void = onTestFinished): Place {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'baton-cmd-')));
  const children: ChildProcess[] = [];
  whenOver(() => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(base, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  });
  const [dir, home, tmp] = [join(base, 'project'), join(base, 'home'), join(base, 'tmp')];
  for (const folder of [dir, home, tmp]) mkdirSync(folder);
  // Files of a killed daemon are deleted with the folder.
  const env = { PATH: process.env.PATH ?? '', HOME: home, TMPDIR: tmp, BATON_DEMO_PACE_MS: '0' };
  const launch = (stdout: 'pipe' | number, args: readonly string[], more = {}) => {
    const options = { cwd: dir, env: { ...env, ...more } };
    const child = spawn(process.execPath, [MAIN, ...args], { ...options, stdio: ['ignore', stdout, 'pipe'] });
    children.push(child);
    const text = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.setEncoding('utf8').on('data', (chunk: string) => {
        text[name] += chunk;
      });
    }
    const ended = new Promise<Result>((resolve) => child.once('close', (code) => resolve({ code, ...text })));
    return { child, ended };
  };
  const start: Place['start'] = (...args) => launch('pipe', args);
  const write = (name: string, text: string) => {
    mkdirSync(join(dir, name, '..'), { recursive: true });
    writeFileSync(join(dir, name), text);
  };
  return {
    dir,
    baton: (...args) => start(...args).ended,
    with: (more, ...args) => launch('pipe', args, more).ended,
    to: (stdout, ...args) => launch(stdout, args).ended,
    start,
    startWith: (more, ...args) => launch('pipe', args, more),
    write,
    read: (name) => readFileSync(join(dir, name), 'utf8'),
    workflow: (settings = '') =>
      write(
        'WORKFLOW.md',
        `---
tracker: { kind: local }
polling: { interval_ms: 300 }
workspace: { root: ./workspaces, min_free_mb: 1 }
codex: { command: ${demoAgent()} }
${settings}
---
Work on {{ issue.identifier }}: {{ issue.title }}

{{ issue.description }}
`,
      ),
    issue: (id, title, body, extra = 'status: To Do') =>
      write(`backlog/tasks/task-${id} - x.md`, `---\nid: TASK-${id}\ntitle: ${title}\n${extra}\n---\n${body}\n`),
  };
}

/** The command of the demo agent in a hurry, as YAML. */
export function demoAgent(): string {
  return `"BATON_DEMO_PACE_MS=0 '${process.execPath}' '${DEMO_AGENT}'"`;
}

/** Processes that still run in a folder; zombies do not count. */
export function processesIn(dir: string): string[] {
  const lines = execFileSync('ps', ['-eo', 'pid,stat,args'], { encoding: 'utf8' }).split('\n');
  return lines.filter((line) => line.includes(dir) && !/^\s*\d+\s+Z/.test(line));
}
