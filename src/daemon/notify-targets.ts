import { randomUUID } from 'node:crypto';
import { lstat, realpath } from 'node:fs/promises';
import { type CapturedOutput, captureOutput } from '../../runner/contain/capture-output.js';
import type { Containment } from '../../runner/contain/process.js';
import { spawnContained } from '../../runner/contain/spawn-contained.js';
import { type Environment, hookEnvironment } from '../../runner/environment.js';
import type { Clock } from '../domain/clock.js';
import { toBatonError } from '../domain/errors.js';
import type { Workflow } from '../domain/workflow.js';
import type { Redactor } from '../logging/redact.js';
import { notSent, type SendResult, type Target } from '../notify/deliver.js';
import { postNotice } from '../notify/post-notice.js';
import { assertCodeFiles } from '../workflow/code-files.js';
import { resolveSecret } from '../workflow/secrets.js';

interface TargetOptions extends CommandHost {
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly version: string;
}

/** The targets that the settings name. The value of a `$NAME` is read for each notice and masked from then on. */
export function notifyTargets(options: TargetOptions): readonly Target[] {
  const { url, command } = options.workflow.config.notify;
  const targets: Target[] = [];
  if (url !== null) targets.push(urlTarget(url, options));
  if (command !== null) {
    const send: Target['send'] = (body, signal) => runNotifyCommand(command, body, signal, options);
    targets.push({ name: 'command', send });
  }
  return targets;
}

function urlTarget(written: string, { env, redactor, clock, version }: TargetOptions): Target {
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
/** The exit codes of bash for a command that does not exist or may not be executed. */
const NOT_RUNNABLE = [126, 127];

interface CommandHost {
  readonly workflow: Workflow;
  readonly env: NodeJS.ProcessEnv;
  readonly containment: Containment;
  readonly tmpDir: string;
}

/**
 * Runs `notify.command` once with a notice on its stdin: with `bash -lc` in the folder of WORKFLOW.md, contained, with the environment of
 * hooks. All its processes are gone when this settles. Never rejects.
 */
export async function runNotifyCommand(
  command: string,
  body: string,
  signal: AbortSignal,
  host: CommandHost,
): Promise<SendResult> {
  const { containment, workflow } = host;
  const { clock } = containment;
  try {
    await assertCodeFiles(workflow, 'notify');
    const cwd = await realpath(workflow.dir);
    const { dev, ino } = await lstat(cwd);
    const options = { marker: `notify-${randomUUID()}`, cwd, identity: { dev, ino }, ...notifyEnvironment(host) };
    const child = await spawnContained({ ...options, script: command, stdin: 'pipe' }, containment);
    const end = () => void child.stop(LADDER); // Awaited below.
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    try {
      child.stdin?.end(`${body}\n`);
      const output = await captureOutput(child, { maxBytes: MAX_OUTPUT_BYTES, clock, drainMs: DRAIN_MS });
      return signal.aborted ? notSent('cancelled', 'the delivery was cancelled') : resultOf(output);
    } finally {
      signal.removeEventListener('abort', end);
      await child.stop(LADDER);
    }
  } catch (error) {
    const { code, message } = toBatonError(error);
    return notSent(code, `the command could not be started: ${message}`);
  }
}

export function notifyEnvironment({ workflow, env, tmpDir }: Omit<CommandHost, 'containment'>): Environment {
  return hookEnvironment(workflow, env, { TMPDIR: tmpDir, BATON_WORKFLOW_DIR: workflow.dir });
}

function resultOf({ status, stdout, stderr }: CapturedOutput): SendResult {
  if (status.code === 0) return { ok: true, detail: 'exit code 0' };
  const printed = lastLines(stderr) || lastLines(stdout);
  const tail = printed === '' ? 'and printed nothing' : `and printed: ${printed}`;
  if (status.code === null)
    return notSent(`signal_${status.signal ?? 'unknown'}`, `the command was ended by a signal ${tail}`);
  const isFinal = NOT_RUNNABLE.includes(status.code);
  return notSent(`exit_${status.code}`, `the command exited with code ${status.code} ${tail}`, { isFinal });
}

function lastLines(output: string): string {
  return output.trim().split('\n').slice(-3).join(' | ').slice(-MAX_SHOWN_LENGTH);
}
