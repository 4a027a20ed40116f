import { randomUUID } from 'node:crypto';
import { lstat, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import type { Writable } from 'node:stream';
import { spawnContained } from '../../runner/contain/spawn-contained.js';
import { environmentFor } from '../../runner/environment.js';
import type { Containment, ExitStatus } from '../../runner/contain/process.js';
import type { Config } from '../domain/config.js';
import { BatonError } from '../domain/errors.js';
import type { ProgramProcess, TrackerProgram } from '../tracker/program.js';

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
