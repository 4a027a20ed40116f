import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { findMarked } from '../../../runner/contain/find-marked.js';
import { type ProgramPlace, startTrackerProgram } from '../../daemon/tracker-program.js';
import type { Clock } from '../../domain/clock.js';
import { BatonError } from '../../domain/errors.js';
import type { Redactor } from '../../logging/redact.js';
import { commandSettings, DEFAULTS, KIND } from '../../tracker/command/settings.js';
import type { TrackerProgram } from '../../tracker/program.js';
import { resolveSecret } from '../../workflow/provider-secrets.js';
import type { Io } from '../io.js';
import { openWorkflow } from '../open-workflow.js';
import type { SuiteOptions } from './run-checks.js';

export interface ProgramUnderTest {
  readonly program: TrackerProgram;
  readonly workflow: ProgramPlace['workflow'];
  readonly states: readonly string[];
  /** `null`: nobody set one. */
  readonly limitMs: number | null;
}

/** The program that a person named: a command, a workflow that has one, or nothing, which is the workflow of this folder. */
export async function programUnderTest(
  named: string | undefined,
  io: Io,
  redactor: Redactor,
): Promise<ProgramUnderTest> {
  const isWorkflow = named === undefined || (/\.md$/i.test(named) && existsSync(resolve(io.cwd, named)));
  return isWorkflow ? ofWorkflow(named ?? 'WORKFLOW.md', io, redactor) : ofCommand(named, io);
}

/** With the environment of a workflow that sets nothing. */
function ofCommand(script: string, io: Io): ProgramUnderTest {
  if (script.trim() === '') throw new BatonError('INVALID_REQUEST', 'the command is empty');
  const config = { runtime: { env: 'allowlist', envAllow: [] }, hooks: { envAllow: [] } } as const;
  const states = [...DEFAULTS.activeStates, ...DEFAULTS.terminalStates];
  return { program: { script, env: {} }, workflow: { dir: io.cwd, config, secretNames: [] }, states, limitMs: null };
}

async function ofWorkflow(path: string, io: Io, redactor: Redactor): Promise<ProgramUnderTest> {
  const { loaded } = await openWorkflow(path, undefined, io);
  const { tracker } = loaded.workflow.config;
  if (tracker.kind !== KIND) {
    const message = `${path} has tracker.kind "${tracker.kind}", which is no program. Name the command: baton tracker test '<command>'.`;
    throw new BatonError('INVALID_REQUEST', message);
  }
  for (const literal of loaded.literalSecrets) redactor.add(literal);
  const secret = (name: string) => {
    const value = resolveSecret(`$${name}`, io.env);
    if (value !== null) redactor.add(value);
    return value;
  };
  for (const name of loaded.workflow.secretNames) secret(name);
  const { command, env, timeoutMs } = commandSettings({ config: tracker, secret, dir: loaded.workflow.dir });
  const states = [...tracker.activeStates, ...tracker.terminalStates];
  return { program: { script: command, env }, workflow: loaded.workflow, states, limitMs: timeoutMs };
}

/** Starts it as a daemon would. */
export async function starterOf(
  { program, workflow }: ProgramUnderTest,
  { env }: Io,
  clock: Clock,
): Promise<SuiteOptions['start']> {
  const forms = {
    usual: await detectContainment({ isolation: 'auto', hide: [], clock }),
    // In a namespace of its own nobody could see what is left: the kernel ends it first.
    countable: await detectContainment({ isolation: 'none', hide: [], clock }),
  };
  return async (form) => {
    const marker = `cli-${randomUUID()}`;
    const process = await startTrackerProgram(program, { workflow, env, containment: forms[form], marker });
    return { process, living: async () => (await findMarked(marker)).length };
  };
}
