import { randomUUID } from 'node:crypto';
import { lstat, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import type { Writable } from 'node:stream';
import type { Logger } from 'pino';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import type { Containment, ExitStatus } from '../../runner/contain/process.js';
import { spawnContained } from '../../runner/contain/spawn-contained.js';
import { type EnvironmentSettings, hookEnvironment } from '../../runner/environment.js';
import { type Clock, withinLimit } from '../domain/clock.js';
import type { TrackerConfig } from '../domain/config.js';
import { BatonError, toBatonError } from '../domain/errors.js';
import type { Tracker } from '../domain/ports.js';
import type { ProgramProcess, TrackerProgram } from '../tracker/program.js';
import { resolveSecret } from '../workflow/secrets.js';
import type { DaemonOptions } from './options.js';

type TrackerSource = Pick<DaemonOptions, 'loaded' | 'trackers' | 'env' | 'redactor'>;

interface TrackerHost {
  /** The settings in force, where they can change. */
  settings?(): TrackerConfig;
  /** The containment of a tracker's program; called when one is started. */
  containment(): Promise<Containment>;
  /** Called before the tracker's program starts. Throws when its file is not the one that was allowed. */
  checkFiles?(): Promise<void>;
}

/** Every value that is read as a secret is masked from then on. */
export async function openTracker(source: TrackerSource, host: TrackerHost): Promise<Tracker> {
  const { loaded, trackers, env, redactor } = source;
  const { config, dir, secretNames } = loaded.workflow;
  const secret = (name: string) => {
    const value = resolveSecret(`$${name}`, env);
    if (value !== null) redactor.add(value);
    return value;
  };
  for (const name of secretNames) secret(name);
  for (const literal of loaded.literalSecrets) redactor.add(literal);
  return trackers.entry(config.tracker.kind).create({
    ...{ config: config.tracker, env, dir, secret },
    settings: host.settings ?? (() => config.tracker),
    mask: (text) => redactor.mask(text),
    nowMs: () => performance.now(),
    start: async (program) => {
      await host.checkFiles?.();
      return startTrackerProgram(program, { workflow: loaded.workflow, env, containment: await host.containment() });
    },
  });
}

/** For commands that only read: the tracker's program is contained as well as this machine allows, and ends with the command. */
export function commandHost(clock: Clock): TrackerHost {
  return { containment: () => detectContainment({ isolation: 'auto', hide: [], clock }) };
}

const LADDER = { eofMs: 500, termMs: 1_000 } as const;

export interface ProgramHost {
  readonly workflow: EnvironmentSettings & { readonly dir: string };
  readonly env: NodeJS.ProcessEnv;
  readonly containment: Containment;
  /** Marks the program's processes; by default a new marker. */
  readonly marker?: string;
}

/**
 * Starts the program of `tracker.kind: command` with `bash -lc` in the folder of WORKFLOW.md, with the environment of hooks and the
 * variables of its settings.
 */
export async function startTrackerProgram(program: TrackerProgram, host: ProgramHost): Promise<ProgramProcess> {
  const { workflow, containment, marker = `tracker-${randomUUID()}` } = host;
  const { env, unset } = hookEnvironment(workflow, host.env, {
    TMPDIR: host.env.TMPDIR ?? tmpdir(),
    BATON_WORKFLOW_DIR: workflow.dir,
    ...program.env,
  });
  const cwd = await realpath(workflow.dir).catch((cause: Error) => {
    throw new BatonError('tracker_request', `the folder of WORKFLOW.md is gone: ${cause.message}`, {}, { cause });
  });
  const { dev, ino } = await lstat(cwd);
  const given = new Set(Object.keys(program.env));
  const child = await spawnContained(
    {
      marker,
      script: program.script,
      cwd,
      identity: { dev, ino },
      env,
      // A variable of its own settings is passed even when it is a secret otherwise.
      unset: unset.filter((name) => !given.has(name)),
      stdin: 'pipe',
    },
    containment,
  );
  return {
    stdin: child.stdin as Writable,
    stdout: child.stdout,
    stderr: child.stderr,
    exited: child.exited.then(describeExit),
    stop: async () => void (await child.stop(LADDER)),
  };
}

function describeExit({ code, signal }: ExitStatus): string {
  return code === null ? `was ended by ${signal ?? 'a signal'}` : `exited with code ${code}`;
}

const LIMIT_MS = 10_000;

interface PreparedTracker {
  /** The end of the rate limit that the tracker reported. */
  readonly limitedUntilMs?: number;
}

interface PrepareOptions {
  readonly tracker: Tracker;
  readonly clock: Clock;
  readonly log: Logger;
  /** Aborted when the daemon is to stop before it has started. */
  readonly signal: AbortSignal | undefined;
}

/** Lets the tracker reject its settings. A tracker that is down does not stop the start: polls report it and try again. Throws `invalid_tracker_config`. */
export async function prepareTracker({ tracker, clock, log, signal: outer }: PrepareOptions): Promise<PreparedTracker> {
  if (!tracker.prepare) return {};
  const late = () => new BatonError('tracker_request', `the tracker did not answer within ${LIMIT_MS / 1000} s`);
  try {
    await withinLimit(clock, LIMIT_MS, async (signal) => tracker.prepare?.(signal), late, outer);
    return {};
  } catch (thrown) {
    const error = toBatonError(thrown, 'tracker_request');
    if (error.code === 'invalid_tracker_config') throw error;
    log.debug({ code: error.code, detail: error.message }, 'tracker could not be prepared before the first poll');
    const { resetAtMs } = error.details;
    return error.code === 'tracker_rate_limited' && typeof resetAtMs === 'number' ? { limitedUntilMs: resetAtMs } : {};
  }
}
