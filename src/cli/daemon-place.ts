import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BatonError } from '../domain/errors.js';
import { defaultStateDir } from '../state-dir.js';
import { workflowKey } from '../workflow/workspace-root.js';
import type { Io } from './io.js';
import { shellWord } from './io.js';

/** Whose daemon is meant. Nothing: that of the WORKFLOW.md in the current folder. */
export interface DaemonTarget {
  readonly workflow?: string | undefined;
  readonly stateDir?: string | undefined;
}

/** Where the daemon is to be found. */
export interface DaemonPlace {
  readonly stateDir: string;
  /** Absolute. `null`: only the state directory was named. */
  readonly workflow: string | null;
  /** There is no such workflow, and nothing is stored of one: it was probably not meant. */
  readonly isNowhere: boolean;
  notRunning(cause?: unknown): BatonError;
}

type World = Pick<Io, 'cwd' | 'env' | 'homeDir'>;

/** The workflow is not read: its daemon can be asked while the file is faulty, or gone. */
export async function daemonPlace({ workflow, stateDir }: DaemonTarget, io: World): Promise<DaemonPlace> {
  const path = workflow === undefined && stateDir !== undefined ? null : resolve(io.cwd, workflow ?? 'WORKFLOW.md');
  const dir =
    stateDir === undefined
      ? defaultStateDir(await workflowKey(path ?? ''), io.env, io.homeDir)
      : resolve(io.cwd, stateDir);
  const start = ['baton', ...(workflow === undefined ? [] : [workflow])];
  if (stateDir !== undefined) start.push('--state-dir', stateDir);
  const command = start.map(shellWord).join(' ');
  return {
    stateDir: dir,
    workflow: path,
    isNowhere: path !== null && !existsSync(path) && !existsSync(join(dir, 'baton.db')),
    notRunning: (cause) => new BatonError('daemon_not_running', whyNot(path, dir, command), {}, { cause }),
  };
}

function whyNot(workflow: string | null, stateDir: string, start: string): string {
  if (workflow === null) return `no daemon runs with the state directory ${stateDir}. To start one: ${start}`;
  const where = `no daemon of ${workflow} runs (there is none in ${stateDir})`;
  if (existsSync(workflow)) return `${where}. To start one: ${start}; of one with another --state-dir, name that too`;
  return `there is no ${workflow}, and no daemon of it runs. Name the workflow file or the --state-dir of the daemon; "baton status" in a folder without a workflow lists them all`;
}
