import { randomUUID } from 'node:crypto';
import { lstat, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import type { Writable } from 'node:stream';
import type { Logger } from 'pino';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import type { Containment, ExitStatus } from '../../runner/contain/process.js';
import { spawnContained } from '../../runner/contain/spawn-contained.js';
import { environmentFor } from '../../runner/environment.js';
import { type Clock, withinLimit } from '../domain/clock.js';
import type { Config, TrackerConfig } from '../domain/config.js';
import { BatonError, toBatonError } from '../domain/errors.js';
import type { Tracker } from '../domain/ports.js';
import type { ProgramProcess, TrackerProgram } from '../tracker/program.js';
import { resolveSecret } from '../workflow/provider-secrets.js';
import type { DaemonOptions } from './daemon.js';

type TrackerSource = Pick<DaemonOptions, 'loaded' | 'trackers' | 'env' | 'redactor'>;

interface TrackerSurroundings {
  /** Of the settings in force, where these may change. */
  settings?(): TrackerConfig;
  /** How a tracker's program is contained; asked when one is started. */
  containment(): Promise<Containment>;
}

/** Whatever is read as a secret is masked from then on. */
export function openTracker(source: TrackerSource, around: TrackerSurroundings): Tracker {
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
    settings: around.settings ?? (() => config.tracker),
    mask: (text) => redactor.mask(text),
    nowMs: () => performance.now(),
    start: async (program) =>
      startTrackerProgram(program, { workflow: loaded.workflow, env, containment: await around.containment() }),
  });
}

const LADDER = { eofMs: 500, termMs: 1_000 } as const;

export interface ProgramPlace {
  readonly workflow: {
    readonly dir: string;
    readonly config: {
      readonly runtime: Pick<Config['runtime'], 'env' | 'envAllow'>;
      readonly hooks: Pick<Config['hooks'], 'envAllow'>;
    };
    readonly secretNames: readonly string[];
  };
  readonly env: NodeJS.ProcessEnv;
  readonly containment: Containment;
  /** By which its processes can be found; absent: one that nobody else needs. */
  readonly marker?: string;
}

/** The program of `tracker.kind: command`: by `bash -lc` in the folder of WORKFLOW.md, with the environment of hooks and what its settings add. */
export async function startTrackerProgram(program: TrackerProgram, place: ProgramPlace): Promise<ProgramProcess> {
  const { workflow, containment, marker = `tracker-${randomUUID()}` } = place;
  const { runtime, hooks } = workflow.config;
  const { env, unset } = environmentFor('hook', {
    base: place.env,
    policy: runtime.env,
    allow: runtime.envAllow,
    hookAllow: hooks.envAllow,
    secretNames: workflow.secretNames,
    extra: { TMPDIR: place.env.TMPDIR ?? tmpdir(), BATON_WORKFLOW_DIR: workflow.dir, ...program.env },
  });
  const cwd = await realpath(workflow.dir).catch((cause: Error) => {
    throw new BatonError('tracker_request', `The folder of WORKFLOW.md is gone: ${cause.message}`, {}, { cause });
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
      // What its settings give it is its own, whatever else that variable is.
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

/** When the tracker may be asked again, where it limits us already. */
interface Prepared {
  readonly limitedUntilMs?: number;
}

interface PrepareOptions {
  readonly tracker: Tracker;
  readonly clock: Clock;
  readonly log: Logger;
  /** Somebody wants the daemon to end before it has begun. */
  readonly signal: AbortSignal | undefined;
}

/** Lets the tracker refuse settings that must not start. A tracker that is down is no reason: polls say so, and go on trying. */
export async function prepareTracker({ tracker, clock, log, signal: outer }: PrepareOptions): Promise<Prepared> {
  if (!tracker.prepare) return {};
  const late = () => new BatonError('tracker_request', `the tracker did not answer within ${LIMIT_MS / 1000} s`);
  try {
    await withinLimit(clock, LIMIT_MS, async (signal) => tracker.prepare?.(signal), late, outer);
    return {};
  } catch (thrown) {
    const error = toBatonError(thrown, 'tracker_request');
    if (error.code === 'invalid_tracker_config') throw error;
    log.debug({ code: error.code, detail: error.message }, 'tracker could not be looked at before the first poll');
    const { resetAtMs } = error.details;
    return error.code === 'tracker_rate_limited' && typeof resetAtMs === 'number' ? { limitedUntilMs: resetAtMs } : {};
  }
}

/** For a command that only looks: a tracker's own program is contained as well as it can be here, and ends with the command. */
export function lookingOnly(clock: Clock): TrackerSurroundings {
  return { containment: () => detectContainment({ isolation: 'auto', hide: [], clock }) };
}
