import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { findMarked } from '../../../runner/contain/marker-sweep.js';
import { createClock } from '../../clock.js';
import { type ProgramHost, startTrackerProgram } from '../../daemon/tracker.js';
import type { Clock } from '../../domain/clock.js';
import { BatonError } from '../../domain/errors.js';
import { createRedactor, type Redactor } from '../../logging/redact.js';
import { neutralise } from '../../text/neutralise.js';
import { commandSettings, DEFAULTS, KIND } from '../../tracker/command/settings.js';
import type { TrackerProgram } from '../../tracker/program.js';
import { resolveSecret } from '../../workflow/provider-secrets.js';
import { type Paint, painter } from '../check/finding.js';
import { type Io, printError } from '../io.js';
import { openWorkflow } from '../open-workflow.js';
import { type CheckResult, runChecks, type SuiteOptions } from './run-checks.js';

export interface TestTrackerOptions {
  /** A command, or the path of a workflow; absent: WORKFLOW.md. */
  readonly named?: string | undefined;
  readonly states?: readonly string[] | undefined;
  readonly writeId?: string | undefined;
  readonly limitMs?: number | undefined;
}

const DEFAULT_LIMIT_MS = 30_000;
const MAX_SHOWN = 500;

/** Holds a tracker program to the protocol, one line for each check. 0: it keeps it, 1: it does not, 2: there is none to test. */
export async function testTracker(options: TestTrackerOptions, io: Io): Promise<number> {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort('operator');
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const clock = createClock();
  const redactor = createRedactor();
  try {
    const under = await programUnderTest(options.named, io, redactor);
    const mask = (text: string) => neutralise(redactor.mask(text));
    const print = (text: string) => void io.stdout.write(`${text}\n`);
    const paint = painter(io.isTTY && !io.env.NO_COLOR);
    print(mask(under.program.script));
    const results: CheckResult[] = [];
    const suite = runChecks({
      start: await starterOf(under, io, clock),
      states: options.states ?? under.states,
      writeId: options.writeId ?? null,
      limitMs: options.limitMs ?? under.limitMs ?? DEFAULT_LIMIT_MS,
      mask: (text) => redactor.mask(text),
      signal: interrupted.signal,
    });
    for await (const result of suite) {
      print(linesOf(result, { mask, paint }));
      results.push(result);
    }
    print(interrupted.signal.aborted ? 'Interrupted.' : verdictOn(results));
    return interrupted.signal.aborted || results.some(({ mark }) => mark === 'failed') ? 1 : 0;
  } catch (error) {
    return printError(error, 2, io);
  } finally {
    clock.close();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

interface Style {
  readonly paint: Paint;
  mask(text: string): string;
}

function linesOf({ mark, law, why, action, sent, came }: CheckResult, { mask, paint }: Style): string {
  const signs = {
    passed: paint('green', '✓'),
    failed: paint('red', '✗'),
    told: paint('dim', '·'),
    skipped: paint('yellow', '-'),
  };
  const reason = mark === 'skipped' ? `skipped: ${why}` : why;
  const details = [
    ...(sent === null ? [] : [`sent  ${sent}`, `came  ${came ?? '(nothing)'}`]),
    ...(action === null ? [] : [action.trim()]),
  ];
  const shown = details.map((detail) => `\n      ${shortened(mask(detail))}`).join('');
  return `  ${signs[mark]} ${law}${reason === '' ? '' : `: ${shortened(mask(reason))}`}${shown}`;
}

/** Masked before: half a secret would not be known as one. */
function shortened(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}… (${text.length} characters)`;
}

function verdictOn(results: readonly CheckResult[]): string {
  const count = (wanted: CheckResult['mark']) => results.filter(({ mark }) => mark === wanted).length;
  const [failures, judged] = [count('failed'), count('passed') + count('failed')];
  const left = count('skipped') === 0 ? '' : `, ${count('skipped')} skipped`;
  if (failures === 0) return `It keeps the protocol: ${judged} checks passed${left}.`;
  return `${failures} of ${judged} checks failed${left}.`;
}

export interface ProgramUnderTest {
  readonly program: TrackerProgram;
  readonly workflow: ProgramHost['workflow'];
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
