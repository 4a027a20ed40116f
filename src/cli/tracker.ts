import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import { findMarked } from '../../runner/contain/marker-sweep.js';
import { type ProgramHost, startTrackerProgram } from '../daemon/tracker.js';
import type { Clock } from '../domain/clock.js';
import { BatonError } from '../domain/errors.js';
import { createRedactor, type Redactor } from '../logging/redact.js';
import { neutralise } from '../text/neutralise.js';
import { DEFAULTS, KIND, readCommandSettings } from '../tracker/command/settings.js';
import type { TrackerProgram } from '../tracker/program.js';
import { resolveSecret } from '../workflow/secrets.js';

import { report, testCommand } from './conformance/checks.js';
import type { TrackerTestOptions } from './conformance/tracker-bench.js';
import { checkTrackerProgram } from './conformance/tracker-checks.js';
import type { Io } from './io.js';
import { openWorkflow } from './open-workflow.js';

export interface TestTrackerOptions {
  /** A command, or the path of a workflow. The default is WORKFLOW.md. */
  readonly named?: string | undefined;
  readonly states?: readonly string[] | undefined;
  readonly writeId?: string | undefined;
  readonly limitMs?: number | undefined;
}

const DEFAULT_LIMIT_MS = 30_000;

/** Checks a tracker program against the protocol, one line per check. */
export function testTracker(options: TestTrackerOptions, io: Io): Promise<number> {
  return testCommand(io, async ({ clock, signal }) => {
    const redactor = createRedactor();
    const tested = await testedProgram(options.named, io, redactor);
    const mask = (text: string) => neutralise(redactor.mask(text));
    io.stdout.write(`${mask(tested.program.script)}\n`);
    const results = checkTrackerProgram({
      start: await starterOf(tested, io, clock),
      states: options.states ?? tested.states,
      writeId: options.writeId ?? null,
      limitMs: options.limitMs ?? tested.limitMs ?? DEFAULT_LIMIT_MS,
      mask: (text) => redactor.mask(text),
      signal,
    });
    return report(results, { io, signal, mask });
  });
}

interface TestedProgram {
  readonly program: TrackerProgram;
  readonly workflow: ProgramHost['workflow'];
  readonly states: readonly string[];
  /** `null` for the default. */
  readonly limitMs: number | null;
}

/** `named` is a command or a workflow with `tracker.kind: command`. The default is the workflow of this folder. */
async function testedProgram(named: string | undefined, io: Io, redactor: Redactor): Promise<TestedProgram> {
  const isWorkflow = named === undefined || (/\.md$/i.test(named) && existsSync(resolve(io.cwd, named)));
  return isWorkflow ? ofWorkflow(named ?? 'WORKFLOW.md', io, redactor) : ofCommand(named, io);
}

/** Runs with the environment of a workflow that sets nothing. */
function ofCommand(script: string, io: Io): TestedProgram {
  if (script.trim() === '') throw new BatonError('INVALID_REQUEST', 'the command is empty');
  const config = { runtime: { env: 'allowlist', envAllow: [] }, hooks: { envAllow: [] } } as const;
  const states = [...DEFAULTS.activeStates, ...DEFAULTS.terminalStates];
  return { program: { script, env: {} }, workflow: { dir: io.cwd, config, secretNames: [] }, states, limitMs: null };
}

async function ofWorkflow(path: string, io: Io, redactor: Redactor): Promise<TestedProgram> {
  const { loaded } = await openWorkflow(path, undefined, io);
  const { tracker } = loaded.workflow.config;
  if (tracker.kind !== KIND) {
    const message = `${path} has tracker.kind "${tracker.kind}", which is not a program. Name the command: baton tracker test '<command>'.`;
    throw new BatonError('INVALID_REQUEST', message);
  }
  for (const literal of loaded.literalSecrets) redactor.add(literal);
  const secret = (name: string) => {
    const value = resolveSecret(`$${name}`, io.env);
    if (value !== null) redactor.add(value);
    return value;
  };
  for (const name of loaded.workflow.secretNames) secret(name);
  const { command, env, timeoutMs } = readCommandSettings({ config: tracker, secret, dir: loaded.workflow.dir });
  const states = [...tracker.activeStates, ...tracker.terminalStates];
  return { program: { script: command, env }, workflow: loaded.workflow, states, limitMs: timeoutMs };
}

/** Starts the program as the daemon would. */
async function starterOf(
  { program, workflow }: TestedProgram,
  { env }: Io,
  clock: Clock,
): Promise<TrackerTestOptions['start']> {
  const forms = {
    usual: await detectContainment({ isolation: 'auto', hide: [], clock }),
    // Without a PID namespace, where the kernel would end all leftovers before they can be counted.
    countable: await detectContainment({ isolation: 'none', hide: [], clock }),
  };
  return async (form) => {
    const marker = `cli-${randomUUID()}`;
    const process = await startTrackerProgram(program, { workflow, env, containment: forms[form], marker });
    return { process, living: async () => (await findMarked(marker)).length };
  };
}
