import { randomUUID } from 'node:crypto';
import { lstat, realpath } from 'node:fs/promises';
import { type CapturedOutput, captureOutput } from '../../runner/contain/capture-output.js';
import type { Containment } from '../../runner/contain/process.js';
import { spawnContained } from '../../runner/contain/spawn-contained.js';
import { type Environment, environmentFor } from '../../runner/environment.js';
import type { Clock } from '../domain/clock.js';
import { toBatonError } from '../domain/errors.js';
import type { Workflow } from '../domain/workflow.js';
import type { Redactor } from '../logging/redact.js';
import { notSent, type SendResult, type Target } from '../notify/deliver.js';
import { postNotice } from '../notify/post-notice.js';
import { resolveSecret } from '../workflow/provider-secrets.js';

interface TargetParts extends CommandPlace {
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly version: string;
}

/** Where the settings send notices. The value of `$NAME` is looked up for each notice, and masked from then on. */
export function notifyTargets(parts: TargetParts): readonly Target[] {
  const { url, command } = parts.workflow.config.notify;
  const targets: Target[] = [];
  if (url !== null) targets.push(urlTarget(url, parts));
  if (command !== null) {
    const send: Target['send'] = (body, signal) => runNotifyCommand(command, body, signal, parts);
    targets.push({ name: 'command', send });
  }
  return targets;
}

function urlTarget(written: string, { env, redactor, clock, version }: TargetParts): Target {
  return {
    name: 'url',
    async send(body, signal) {
      const url = resolveSecret(written, env)?.trim();
      if (url === undefined) {
        return notSent('variable_unset', `notify.url is ${written}, which is not set`, { isFinal: true });
      }
      redactor.add(url);
      return postNotice({ url, body, signal, clock, userAgent: `baton/${version}` });
    },
  };
}

const MAX_OUTPUT_BYTES = 16 * 1024;
const MAX_SHOWN_LENGTH = 300;
const DRAIN_MS = 500;
const LADDER = { eofMs: 0, termMs: 500 } as const;
/** What bash says of a command that is not there, or may not be run. */
const NOT_RUNNABLE = [126, 127];

interface CommandPlace {
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
): Promise<SendResult> {
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

function sentBy({ status, stdout, stderr }: CapturedOutput): SendResult {
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
