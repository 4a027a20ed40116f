import type { Clock } from '../../../src/domain/clock.js';
import { toBatonError } from '../../../src/domain/errors.js';
import { assertNever, type JsonObject } from '../../../src/domain/json.js';
import type { ExecutorDefinition } from '../../../src/domain/steps/plan.js';
import type { ContainedProcess } from '../../contain/process.js';
import type { Program, StepContext } from '../executor.js';
import { CHECKS, type Check, failed, type Seen, type Verdict } from './conformance-checks.js';
import { buildEnvelope, type Envelope, jobOf } from './envelope.js';
import type { EnvelopePipe } from './envelope-pipe.js';
import { prepareProgram } from './prepare-program.js';
import { runChild } from './run-child.js';
import type { RunFacts } from './spawn-request.js';

/** What the suite needs of the world around it. */
export interface ConformanceHost extends Pick<StepContext, 'clock' | 'environment' | 'secret' | 'warn' | 'workspace'> {
  readonly run: RunFacts;
  /** Ends the suite early. */
  readonly signal: AbortSignal;
  /** `countable`: in a form of containment that lets us see what the program leaves behind. */
  start(program: Program, form: 'usual' | 'countable'): Promise<ConformanceProcess>;
}

export interface ConformanceProcess {
  readonly process: ContainedProcess;
  /** How many processes of it are alive. */
  living(): Promise<number>;
}

export interface ConformanceOptions {
  /** Of the envelope: some executors do nothing without a certain one. */
  readonly input: JsonObject;
  /** How long each check may take. */
  readonly limitMs: number;
  /** Between SIGTERM and SIGKILL. */
  readonly termMs: number;
  /** Long enough for an executor to be at its work, or to have given up. */
  readonly settleMs: number;
}

export interface CheckResult extends Verdict {
  readonly name: string;
  readonly law: string;
}

const PIECES = 20;
const PIECE_EVERY_MS = 10;
const CALM_MS = 200;

/**
 * Holds an executor to the protocol: starts it once for each check, for real, and tells what came of it as it comes. Its child
 * finds the name of the check in `BATON_CONFORMANCE`.
 */
export async function* runConformance(
  definition: ExecutorDefinition,
  host: ConformanceHost,
  options: ConformanceOptions,
): AsyncGenerator<CheckResult> {
  const envelope = sampleEnvelope(definition, host, options);
  for (const check of CHECKS) {
    if (host.signal.aborted) return;
    const { name, law } = check;
    const seen = await see(check, envelope, definition, host, options).catch((error: unknown) => toBatonError(error));
    if (host.signal.aborted) return;
    if (!(seen instanceof Error)) {
      yield { name, law, ...check.judge(seen) };
      continue;
    }
    // What cannot be started once will not be the next time.
    return yield { name, law, ...failed(seen.message, 'Then try again: nothing else was checked.') };
  }
}

function sampleEnvelope(definition: ExecutorDefinition, host: ConformanceHost, options: ConformanceOptions): Envelope {
  const stepId = 'conformance';
  const { run, workspace } = host;
  const job = jobOf({ runId: run.id, stepId, executor: definition.name, model: null, timeoutMs: options.limitMs });
  const description = 'Only the ways of the executor are looked at.';
  const action = { description, inputSchema: {}, outputSchema: {}, input: options.input, memory: {} };
  const task = {
    id: run.taskId ?? 'conformance',
    title: 'Conformance check',
    description,
    acceptance_criteria: [],
    plan: '',
    context_files: [],
    external_refs: [],
    workspace_path: workspace,
    repo_root: null,
  };
  return buildEnvelope({ stepId, action, skills: [], job, task });
}

async function see(
  check: Check,
  envelope: Envelope,
  definition: ExecutorDefinition,
  host: ConformanceHost,
  { limitMs, termMs, settleMs }: ConformanceOptions,
): Promise<Seen> {
  const { clock } = host;
  const action = { model: null, tools: [], allowedPrograms: [], envSet: { BATON_CONFORMANCE: check.name } };
  const program = await prepareProgram({ definition, action, stepId: 'conformance', run: host.run }, host);
  const form = check.name === 'leaves_nothing' ? 'countable' : 'usual';
  const { process, living } = await host.start(program, form);
  let leftBehind: number | null = null;
  const counted: ContainedProcess = {
    ...process,
    // The first call comes right after the end of the program itself.
    async stop(ladder) {
      leftBehind ??= form === 'usual' ? 0 : await stillLiving(living, clock);
      return process.stop(ladder);
    },
  };
  const stopped = new AbortController();
  const abort = () => stopped.abort();
  const cancel = clock.after(check.delivery === 'unfinished' ? settleMs : limitMs, abort);
  host.signal.addEventListener('abort', abort);
  try {
    const bytes = Buffer.from(check.text(envelope));
    const deliver = (pipe: EnvelopePipe) => give(pipe, bytes, check.delivery, clock);
    const report = await runChild(counted, { clock, signal: stopped.signal, deliver, stopLadder: { termMs } });
    return { ...report, leftBehind: leftBehind ?? 0, limitMs };
  } finally {
    cancel();
    host.signal.removeEventListener('abort', abort);
  }
}

/** What is just ending is not left behind, and what is just being started cannot be told by its environment yet. */
async function stillLiving(living: () => Promise<number>, clock: Clock): Promise<number> {
  await new Promise<void>((resolve) => void clock.after(CALM_MS, resolve));
  return living();
}

function give(pipe: EnvelopePipe, bytes: Buffer, delivery: Check['delivery'], clock: Clock): void {
  switch (delivery) {
    case 'whole':
      return pipe.end(bytes);
    case 'unfinished':
      return pipe.write(bytes.subarray(0, bytes.length / 2));
    case 'in_pieces':
      return givePieces(pipe, bytes, Math.ceil(bytes.length / PIECES), clock);
    default:
      return assertNever(delivery);
  }
}

function givePieces(pipe: EnvelopePipe, rest: Buffer, size: number, clock: Clock): void {
  if (rest.length <= size) return pipe.end(rest);
  pipe.write(rest.subarray(0, size));
  clock.after(PIECE_EVERY_MS, () => givePieces(pipe, rest.subarray(size), size, clock));
}
