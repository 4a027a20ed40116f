import { randomUUID } from 'node:crypto';
import { lstat, realpath } from 'node:fs/promises';
import { type CapturedOutput, captureOutput } from '../../runner/contain/capture-output.js';
import { spawnContained } from '../../runner/contain/spawn-contained.js';
import { type Environment, environmentFor } from '../../runner/environment.js';
import type { Containment } from '../../runner/contain/process.js';
import type { Workflow } from '../domain/config.js';
import { toBatonError } from '../domain/errors.js';
import { notSent, type Sent } from '../notify/sent.js';

const MAX_OUTPUT_BYTES = 16 * 1024;
const MAX_SHOWN_LENGTH = 300;
const DRAIN_MS = 500;
const LADDER = { eofMs: 0, termMs: 500 } as const;
/** What bash says of a command that is not there, or may not be run. */
const NOT_RUNNABLE = [126, 127];

export interface CommandPlace {
  readonly workflow: Workflow;
  readonly env: NodeJS.ProcessEnv;
  readonly containment: Containment;
  readonly tmpDir: string;
}

/**
 * Runs `notify.command` once, with a notice on its stdin: by `bash -lc` in the folder of WORKFLOW.md, with the environment of hooks, contained.
 * Nothing of it is alive afterwards, whether it ended, failed or was given up. Never rejects.
 */
export async function runNotifyCommand(
  command: string,
  body: string,
  signal: AbortSignal,
  place: CommandPlace,
): Promise<Sent> {
  const { containment, workflow } = place;
  const { clock } = containment;
  try {
    const cwd = await realpath(workflow.dir);
    const { dev, ino } = await lstat(cwd);
    const where = { marker: `notify-${randomUUID()}`, cwd, identity: { dev, ino }, ...notifyEnvironment(place) };
    const child = await spawnContained({ ...where, script: command, stdin: 'pipe' }, containment);
    const end = () => void child.stop(LADDER); // Awaited below, with its result.
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    try {
      child.stdin?.end(`${body}\n`);
      const output = await captureOutput(child, { maxBytes: MAX_OUTPUT_BYTES, clock, drainMs: DRAIN_MS });
      return signal.aborted ? notSent('cancelled', 'it was given up') : sentBy(output);
    } finally {
      signal.removeEventListener('abort', end);
      await child.stop(LADDER);
    }
  } catch (error) {
    const { code, message } = toBatonError(error);
    return notSent(code, `the command could not be started: ${message}`);
  }
}

export function notifyEnvironment({ workflow, env, tmpDir }: Omit<CommandPlace, 'containment'>): Environment {
  const { runtime, hooks } = workflow.config;
  return environmentFor('hook', {
    base: env,
    policy: runtime.env,
    allow: runtime.envAllow,
    hookAllow: hooks.envAllow,
    secretNames: workflow.secretNames,
    extra: { TMPDIR: tmpDir, BATON_WORKFLOW_DIR: workflow.dir },
  });
}

function sentBy({ status, stdout, stderr }: CapturedOutput): Sent {
  if (status.code === 0) return { ok: true, detail: 'exit code 0' };
  const said = lastWords(stderr) || lastWords(stdout);
  const tail = said === '' ? 'and printed nothing' : `and printed: ${said}`;
  if (status.code === null)
    return notSent(`signal_${status.signal ?? 'unknown'}`, `the command was ended by a signal ${tail}`);
  const isFinal = NOT_RUNNABLE.includes(status.code);
  return notSent(`exit_${status.code}`, `the command exited with code ${status.code} ${tail}`, { isFinal });
}

function lastWords(output: string): string {
  return output.trim().split('\n').slice(-3).join(' | ').slice(-MAX_SHOWN_LENGTH);
}
