import type { Clock } from '../../../src/domain/clock.js';
import { toBatonError } from '../../../src/domain/errors.js';
import { assertNever, type JsonObject } from '../../../src/domain/json.js';
import type { ExecutorDefinition } from '../../../src/domain/steps/plan.js';
import type { ContainedProcess } from '../../contain/process.js';
import type { Program, StepContext } from '../executor.js';
import { buildEnvelope, type Envelope, type EnvelopePipe, jobOf } from './envelope.js';
import { type ChildReport, runChild } from './external-executor.js';
import { prepareProgram, type RunFacts } from './spawn-request.js';

/** What the suite needs of the world around it. */
export interface ConformanceHost extends Pick<StepContext, 'clock' | 'environment' | 'secret' | 'warn' | 'workspace'> {
  readonly run: RunFacts;
  /** Ends the suite early. */
  readonly signal: AbortSignal;
  /** `countable`: in a form of containment that lets us see what the program leaves behind. */
  start(program: Program, form: 'usual' | 'countable'): Promise<ConformanceProcess>;
}

interface ConformanceProcess {
  readonly process: ContainedProcess;
  /** How many processes of it are alive. */
  living(): Promise<number>;
}

interface ConformanceOptions {
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

/** One thing that an executor is held to: what it is given, how, and what is made of its end. Plain data. */
interface Check {
  readonly name: string;
  /** What a good executor does, as a sentence without its subject. */
  readonly law: string;
  readonly text: (envelope: Envelope) => string;
  /** `unfinished`: the end never comes, and the executor is told to stop. */
  readonly delivery: 'whole' | 'in_pieces' | 'unfinished';
  readonly judge: (seen: Seen) => Verdict;
}

interface Seen extends ChildReport {
  /** How many of its processes lived on after it. */
  readonly leftBehind: number;
  readonly limitMs: number;
}

/** `told`: there is no right or wrong. */
interface Verdict {
  readonly mark: 'passed' | 'failed' | 'told';
  readonly why: string;
  readonly action: string | null;
}

export const CHECKS: readonly Check[] = [
  {
    name: 'drains',
    law: 'reads its input to the end and exits with 0',
    text: JSON.stringify,
    delivery: 'whole',
    judge: endsWell,
  },
  {
    name: 'large',
    law: 'reads an input of 1 MiB to the end',
    text: (envelope) => JSON.stringify({ ...envelope, memory: { padding: 'x'.repeat(1_048_576) } }),
    delivery: 'whole',
    judge: endsWell,
  },
  {
    name: 'slow',
    law: 'waits for the rest of an input that comes in pieces',
    text: JSON.stringify,
    delivery: 'in_pieces',
    judge: endsWell,
  },
  {
    name: 'bare',
    law: 'does without job and task, which may be missing',
    text: ({ job: _job, task: _task, ...envelope }) => JSON.stringify(envelope),
    delivery: 'whole',
    judge: endsWell,
  },
  {
    name: 'odd_text',
    law: 'takes any text: quotes, line ends, other scripts, emoji',
    text: (envelope) => JSON.stringify({ ...envelope, memory: { note: ODD_TEXT } }),
    delivery: 'whole',
    judge: endsWell,
  },
  {
    name: 'unknown_members',
    law: 'does not mind members that it does not know',
    text: (envelope) => JSON.stringify(withUnknownMembers(envelope)),
    delivery: 'whole',
    judge: endsWell,
  },
  {
    name: 'leaves_nothing',
    law: 'leaves no process behind',
    text: JSON.stringify,
    delivery: 'whole',
    judge: leavesNothing,
  },
  {
    name: 'stops',
    law: 'ends in time when it is told to (SIGTERM)',
    text: JSON.stringify,
    delivery: 'unfinished',
    judge: stops,
  },
  {
    name: 'nonsense',
    law: 'was given an input that is no JSON',
    text: () => 'this is {no JSON',
    delivery: 'whole',
    judge: tellEnd,
  },
];

const ODD_TEXT = 'a "quoted" \\ text\r\n\twith \u2028 separators, Ünïcödé, 日本語, \u202eright to left\u202c and 🧪';

/** Later envelopes of version 1 may have more members, at any place. */
function withUnknownMembers({ activity, job, ...envelope }: Envelope): object {
  const later = { baton_later_member: { nested: [1, null] } };
  const steps = job?.steps.map((step) => ({ ...step, ...later }));
  return { ...later, ...envelope, activity: { ...activity, ...later }, job: { ...job, steps, ...later } };
}

function endsWell({ status, wasAborted, envelopeWasRead, stderr, limitMs }: Seen): Verdict {
  if (wasAborted) {
    const why = `it was still at work after ${limitMs / 1000} s`;
    return failed(why, 'Let it see the end of its stdin and exit; if it needs more time here, give --limit.');
  }
  if (status.code === null) {
    return failed(`it was killed by ${status.signal}`, 'Look for who sends signals, or for too little memory.');
  }
  if (status.code !== 0) {
    const said = lastLine(stderr);
    const why = `exit code ${status.code}${said === '' ? ', and nothing on stderr' : `: ${said}`}`;
    return failed(why, stderr.includes('/dev/stdin') ? NO_DEVICE : NEEDS_SOMETHING);
  }
  if (!envelopeWasRead) {
    const why = 'exit code 0, but it did not read its input to the end';
    return failed(why, 'Read stdin to its end before you do anything else: in a run this is AGENT_INVOCATION_FAILED.');
  }
  return PASSED;
}

const NEEDS_SOMETHING = 'It must exit with 0 when it has done its work; if it needs a certain input, give --input.';
const NO_DEVICE = 'Read descriptor 0 itself: its stdin is a socket, and /dev/stdin cannot be opened for one.';

function leavesNothing(seen: Seen): Verdict {
  if (seen.leftBehind === 0) return endsWell(seen);
  const what = seen.leftBehind === 1 ? '1 process was' : `${seen.leftBehind} processes were`;
  return failed(
    `${what} still alive after it`,
    'Wait for what it starts, or end it: in a run it is killed with the step.',
  );
}

function stops({ status, wasAborted }: Seen): Verdict {
  if (!wasAborted) {
    const why = 'it had ended before it could be told to, without having seen the end of its input';
    return failed(why, 'Read stdin to its end before you do anything else.');
  }
  if (status.signal !== 'SIGKILL') return PASSED;
  return failed('it had to be killed', 'End on SIGTERM, and end what it has started: in a run it has 3 s.');
}

function tellEnd({ status, wasAborted, limitMs }: Seen): Verdict {
  const how = status.code === null ? `it was killed by ${status.signal}` : `exit code ${status.code}`;
  const why = wasAborted ? `it was still at work after ${limitMs / 1000} s` : how;
  const action = status.code === 0 ? 'Any code but 0 would tell that it was given something unusable.' : null;
  return { mark: 'told', why, action };
}

const PASSED: Verdict = { mark: 'passed', why: '', action: null };

function failed(why: string, action: string): Verdict {
  return { mark: 'failed', why, action };
}

const MAX_SHOWN_CHARS = 300;

function lastLine(text: string): string {
  return (text.trim().split('\n').at(-1) ?? '').slice(-MAX_SHOWN_CHARS);
}
