import type { ContainedProcess } from '../../../runner/contain/process.js';
import type { Program, StepContext } from '../../../runner/executors/executor.js';
import {
  buildEnvelope,
  type Envelope,
  type EnvelopePipe,
  jobOf,
  jobStep,
} from '../../../runner/executors/external/envelope.js';
import { type ChildReport, runChild } from '../../../runner/executors/external/external-executor.js';
import { prepareProgram, type RunFacts } from '../../../runner/executors/external/spawn-request.js';
import type { Clock } from '../../domain/clock.js';
import { assertNever, type JsonObject } from '../../domain/json.js';
import type { ExecutorDefinition, ExternalAction } from '../../domain/steps/plan.js';
import { type Check, type CheckResult, failed, info, passed, runChecks, type Verdict } from './checks.js';

/** Everything that the checks need from outside. */
export interface ExecutorHost extends Pick<StepContext, 'clock' | 'environment' | 'secret' | 'warn' | 'workspace'> {
  readonly run: RunFacts;
  /** Ends the checks early. */
  readonly signal: AbortSignal;
  /** `countable`: contained so that the processes it leaves behind can be counted. */
  start(program: Program, form: 'usual' | 'countable'): Promise<StartedExecutor>;
}

interface StartedExecutor {
  readonly process: ContainedProcess;
  /** The number of its living processes. */
  living(): Promise<number>;
}

interface ExecutorTestOptions {
  /** The `input` of the envelope, for executors that need a certain one. */
  readonly input: JsonObject;
  /** Per check. */
  readonly limitMs: number;
  /** Between SIGTERM and SIGKILL. */
  readonly termMs: number;
  /** How long an executor may start its work before it receives SIGTERM. */
  readonly settleMs: number;
}

/** Checks an executor against the protocol. Each check starts it once, with the name of the check in `BATON_CONFORMANCE`. */
export function checkExecutor(
  definition: ExecutorDefinition,
  host: ExecutorHost,
  options: ExecutorTestOptions,
): AsyncGenerator<CheckResult> {
  const bench = new ExecutorBench(definition, host, options);
  return runChecks(EXECUTOR_CHECKS, bench, { signal: host.signal, canContinue: () => bench.canStart });
}

/** One start of an executor: its stdin, and the check of its end. */
interface Trial {
  readonly name: string;
  readonly law: string;
  text(envelope: Envelope): string;
  /** `unfinished`: its stdin stays open, and the executor receives SIGTERM. */
  readonly delivery: 'whole' | 'in_pieces' | 'unfinished';
  judge(observation: Observation): Verdict;
}

const ODD_TEXT = 'a "quoted" \\ text\r\n\twith \u2028 separators, Ünïcödé, 日本語, \u202eright to left\u202c and 🧪';

const TRIALS: readonly Trial[] = [
  {
    name: 'drains',
    law: 'reads its input to the end and exits with 0',
    text: JSON.stringify,
    delivery: 'whole',
    judge: judgeEnd,
  },
  {
    name: 'large',
    law: 'reads an input of 1 MiB to the end',
    text: (envelope) => JSON.stringify({ ...envelope, memory: { padding: 'x'.repeat(1_048_576) } }),
    delivery: 'whole',
    judge: judgeEnd,
  },
  {
    name: 'slow',
    law: 'waits for the rest of an input that comes in pieces',
    text: JSON.stringify,
    delivery: 'in_pieces',
    judge: judgeEnd,
  },
  {
    name: 'bare',
    law: 'works without the optional members job and task',
    text: ({ job: _job, task: _task, ...envelope }) => JSON.stringify(envelope),
    delivery: 'whole',
    judge: judgeEnd,
  },
  {
    name: 'odd_text',
    law: 'takes any text: quotes, line ends, other scripts, emoji',
    text: (envelope) => JSON.stringify({ ...envelope, memory: { note: ODD_TEXT } }),
    delivery: 'whole',
    judge: judgeEnd,
  },
  {
    name: 'unknown_members',
    law: 'ignores members that it does not know',
    text: (envelope) => JSON.stringify(withUnknownMembers(envelope)),
    delivery: 'whole',
    judge: judgeEnd,
  },
  {
    name: 'leaves_nothing',
    law: 'leaves no process behind',
    text: JSON.stringify,
    delivery: 'whole',
    judge: judgeLeftovers,
  },
  {
    name: 'stops',
    law: 'ends in time after SIGTERM',
    text: JSON.stringify,
    delivery: 'unfinished',
    judge: judgeStop,
  },
  {
    name: 'nonsense',
    law: 'was given an input that is not JSON',
    text: () => 'this is {no JSON',
    delivery: 'whole',
    judge: describeEnd,
  },
];

export const EXECUTOR_CHECKS: readonly Check<ExecutorBench>[] = TRIALS.map((trial) => ({
  name: trial.name,
  law: trial.law,
  run: async (bench) => trial.judge(await bench.observe(trial)),
}));

/** Later envelopes of version 1 may have new members anywhere. */
function withUnknownMembers({ activity, job, ...envelope }: Envelope): object {
  const later = { baton_later_member: { nested: [1, null] } };
  const steps = job?.steps.map((step) => ({ ...step, ...later }));
  return { ...later, ...envelope, activity: { ...activity, ...later }, job: { ...job, steps, ...later } };
}

interface Observation extends ChildReport {
  /** The number of its processes that outlived it. */
  readonly leftBehind: number;
  readonly limitMs: number;
}

const PIECES = 20;
const PIECE_EVERY_MS = 10;
const CALM_MS = 200;

class ExecutorBench {
  readonly #definition: ExecutorDefinition;
  readonly #host: ExecutorHost;
  readonly #options: ExecutorTestOptions;
  #canStart = true;

  constructor(definition: ExecutorDefinition, host: ExecutorHost, options: ExecutorTestOptions) {
    this.#definition = definition;
    this.#host = host;
    this.#options = options;
  }

  /** An executor that fails to start once will fail again. */
  get canStart(): boolean {
    return this.#canStart;
  }

  async observe(trial: Trial): Promise<Observation> {
    try {
      return await this.#runTrial(trial);
    } catch (error) {
      this.#canStart = false;
      throw error;
    }
  }

  async #runTrial(trial: Trial): Promise<Observation> {
    const { clock, signal } = this.#host;
    const { limitMs, settleMs, termMs } = this.#options;
    const form = trial.name === 'leaves_nothing' ? 'countable' : 'usual';
    const { process, living } = await this.#start(trial, form);
    let leftBehind: number | null = null;
    const counted: ContainedProcess = {
      ...process,
      // The first call comes right after the end of the program itself.
      async stop(ladder) {
        leftBehind ??= form === 'usual' ? 0 : await countLeftovers(living, clock);
        return process.stop(ladder);
      },
    };
    const stopped = new AbortController();
    const abort = () => stopped.abort();
    const cancel = clock.after(trial.delivery === 'unfinished' ? settleMs : limitMs, abort);
    signal.addEventListener('abort', abort);
    try {
      const bytes = Buffer.from(trial.text(this.#envelope()));
      const deliver = (pipe: EnvelopePipe) => writeEnvelope(pipe, bytes, trial.delivery, clock);
      const report = await runChild(counted, { clock, signal: stopped.signal, deliver, stopLadder: { termMs } });
      return { ...report, leftBehind: leftBehind ?? 0, limitMs };
    } finally {
      cancel();
      signal.removeEventListener('abort', abort);
    }
  }

  async #start({ name }: Trial, form: 'usual' | 'countable'): Promise<StartedExecutor> {
    const host = this.#host;
    const action = { model: null, tools: [], allowedPrograms: [], envSet: { BATON_CONFORMANCE: name } };
    const parts = { definition: this.#definition, action, stepId: 'conformance', run: host.run };
    return host.start(await prepareProgram(parts, host), form);
  }

  #envelope(): Envelope {
    const { run, workspace } = this.#host;
    const { input, limitMs } = this.#options;
    const step = { id: 'conformance', timeoutMs: limitMs, idempotencyKey: null };
    const description = 'A conformance check: only the behaviour of the executor counts.';
    const action: ExternalAction = {
      ...{ kind: 'external', executor: this.#definition.name, model: null, envSet: {}, description },
      ...{ tools: [], allowedPrograms: [], skills: [], memory: {}, inputSchema: {}, outputSchema: {}, input },
    };
    const job = { ...jobOf(run.id, []), steps: [jobStep({ ...step, action })] };
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
    return buildEnvelope({ step, action, skills: [], job, task });
  }
}

/** Waits first: ending processes are not leftovers, and the environment of starting ones cannot be read yet. */
async function countLeftovers(living: () => Promise<number>, clock: Clock): Promise<number> {
  await new Promise<void>((resolve) => void clock.after(CALM_MS, resolve));
  return living();
}

function writeEnvelope(pipe: EnvelopePipe, bytes: Buffer, delivery: Trial['delivery'], clock: Clock): void {
  switch (delivery) {
    case 'whole':
      return pipe.end(bytes);
    case 'unfinished':
      return pipe.write(bytes.subarray(0, bytes.length / 2));
    case 'in_pieces':
      return writePieces(pipe, bytes, Math.ceil(bytes.length / PIECES), clock);
    default:
      return assertNever(delivery);
  }
}

function writePieces(pipe: EnvelopePipe, bytes: Buffer, size: number, clock: Clock): void {
  if (bytes.length <= size) return pipe.end(bytes);
  pipe.write(bytes.subarray(0, size));
  clock.after(PIECE_EVERY_MS, () => writePieces(pipe, bytes.subarray(size), size, clock));
}

function judgeEnd({ status, wasAborted, envelopeWasRead, stderr, limitMs }: Observation): Verdict {
  if (wasAborted) {
    const action = 'Let it see the end of its stdin and exit; if it needs more time here, give --limit.';
    return failed(`was still at work after ${limitMs / 1000} s`, action);
  }
  if (status.code === null)
    return failed(`was killed by ${status.signal}`, 'Find out what sends the signal, or whether memory is short.');
  if (status.code !== 0) {
    const lastWords = lastLine(stderr);
    const problem = `exited with code ${status.code}${lastWords === '' ? ' and wrote nothing to stderr' : `: ${lastWords}`}`;
    return failed(problem, NEEDS_INPUT);
  }
  if (!envelopeWasRead) {
    const action = 'Read stdin to its end before you do anything else: in a run this is AGENT_INVOCATION_FAILED.';
    return failed('exited with code 0, but did not read its input to the end', action);
  }
  return passed();
}

const NEEDS_INPUT = 'It must exit with 0 when it has done its work; if it needs a certain input, give --input.';

function judgeLeftovers(observation: Observation): Verdict {
  const { leftBehind } = observation;
  if (leftBehind === 0) return judgeEnd(observation);
  const processes = leftBehind === 1 ? '1 process' : `${leftBehind} processes`;
  return failed(`left ${processes} behind`, 'Wait for what it starts, or end it: in a run it is killed with the step.');
}

function judgeStop({ status, wasAborted }: Observation): Verdict {
  if (!wasAborted)
    return failed('ended without the end of its input', 'Read stdin to its end before you do anything else.');
  if (status.signal !== 'SIGKILL') return passed();
  return failed('had to be killed', 'End on SIGTERM, and end what it has started: in a run it has 3 s.');
}

function describeEnd({ status, wasAborted, limitMs }: Observation): Verdict {
  const end = status.code === null ? `was killed by ${status.signal}` : `exited with code ${status.code}`;
  const reason = wasAborted ? `it was still at work after ${limitMs / 1000} s` : `it ${end}`;
  return info(reason, status.code === 0 ? 'Any other code would show that the input was unusable.' : null);
}

const MAX_SHOWN_CHARS = 300;

function lastLine(text: string): string {
  return (text.trim().split('\n').at(-1) ?? '').slice(-MAX_SHOWN_CHARS);
}
