import { createClock } from '../../clock.js';
import type { Clock } from '../../domain/clock.js';
import { toBatonError } from '../../domain/errors.js';
import { painter } from '../check/finding.js';
import { type Io, printError } from '../io.js';

/** One rule of a protocol, checked on a real program. */
export interface Check<Bench> {
  readonly name: string;
  /** What a good program does, as a sentence without its subject. */
  readonly law: string;
  run(bench: Bench): Promise<Verdict>;
}

export interface Verdict {
  /** `info`: the protocol allows any behaviour here. */
  readonly mark: 'passed' | 'failed' | 'info' | 'skipped';
  readonly reason: string;
  /** What the author of the program should do. */
  readonly action: string | null;
  /** The request and the answer behind the verdict. */
  readonly evidence: Evidence | null;
}

export interface Evidence {
  readonly sent: string;
  /** `null` when nothing was received. */
  readonly received: string | null;
}

export interface CheckResult extends Verdict {
  readonly name: string;
  readonly law: string;
}

export function passed(reason = ''): Verdict {
  return { mark: 'passed', reason, action: null, evidence: null };
}

export function info(reason: string, action: string | null = null): Verdict {
  return { mark: 'info', reason, action, evidence: null };
}

export function skipped(reason: string): Verdict {
  return { mark: 'skipped', reason, action: null, evidence: null };
}

/** `problem` continues "it …". */
export function failed(problem: string, action: string, evidence: Evidence | null = null): Verdict {
  return { mark: 'failed', reason: `it ${problem}`, action, evidence };
}

/** Ends a check from anywhere inside it. */
export class CheckFailure extends Error {
  override readonly name = 'CheckFailure';

  constructor(readonly verdict: Verdict) {
    super(verdict.reason);
  }
}

export function fail(problem: string, action: string, evidence?: Evidence): never {
  throw new CheckFailure(failed(problem, action, evidence));
}

interface ChecksOptions {
  /** Ends the checks early. */
  readonly signal: AbortSignal;
  /** Whether the next check can learn anything, asked after each check. */
  canContinue(): boolean;
}

/** Runs the checks in their order and yields each result as soon as it is known. */
export async function* runChecks<Bench>(
  checks: readonly Check<Bench>[],
  bench: Bench,
  { signal, canContinue }: ChecksOptions,
): AsyncGenerator<CheckResult> {
  for (const check of checks) {
    if (signal.aborted) return;
    const { name, law } = check;
    const result = { name, law, ...(await verdictOf(check, bench)) };
    if (signal.aborted) return;
    if (canContinue()) yield result;
    else return yield { ...result, action: `${result.action ?? ''} Then try again: nothing else was checked.`.trim() };
  }
}

async function verdictOf<Bench>(check: Check<Bench>, bench: Bench): Promise<Verdict> {
  try {
    return await check.run(bench);
  } catch (error) {
    if (error instanceof CheckFailure) return error.verdict;
    return failed(`could not be started: ${toBatonError(error).message}`, 'Correct that.');
  }
}

interface CommandContext {
  readonly clock: Clock;
  /** Aborted when the user interrupts the command. */
  readonly signal: AbortSignal;
}

/**
 * The frame of a test command. Returns its exit code: 0 when the program keeps the protocol, 1 when it does not, 2 when there is
 * no program to test.
 */
export async function testCommand(io: Io, test: (context: CommandContext) => Promise<number>): Promise<number> {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort('operator');
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const clock = createClock();
  try {
    return await test({ clock, signal: interrupted.signal });
  } catch (error) {
    return printError(error, 2, io);
  } finally {
    clock.close();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

interface ReportOptions {
  readonly io: Io;
  readonly signal: AbortSignal;
  /** Removes secrets and control characters. */
  mask(text: string): string;
}

/** Prints each result as it comes and a summary, and returns the exit code. */
export async function report(results: AsyncIterable<CheckResult>, { io, signal, mask }: ReportOptions): Promise<0 | 1> {
  const print = (text: string) => void io.stdout.write(`${text}\n`);
  const marks: CheckResult['mark'][] = [];
  for await (const result of results) {
    print(linesOf(result, io, mask));
    marks.push(result.mark);
  }
  print(signal.aborted ? 'Interrupted.' : summaryOf(marks));
  return signal.aborted || marks.includes('failed') ? 1 : 0;
}

function linesOf({ mark, law, reason, action, evidence }: CheckResult, io: Io, mask: (text: string) => string): string {
  const paint = painter(io.isTTY && !io.env.NO_COLOR);
  const signs = {
    passed: paint('green', '✓'),
    failed: paint('red', '✗'),
    info: paint('dim', '·'),
    skipped: paint('yellow', '-'),
  };
  const text = mark === 'skipped' ? `skipped: ${reason}` : reason;
  const details = [
    ...(evidence === null ? [] : [`sent  ${evidence.sent}`, `came  ${evidence.received ?? '(nothing)'}`]),
    ...(action === null ? [] : [action]),
  ];
  const indented = details.map((detail) => `\n      ${shorten(mask(detail))}`).join('');
  return `  ${signs[mark]} ${law}${text === '' ? '' : `: ${shorten(mask(text))}`}${indented}`;
}

const MAX_SHOWN = 500;

/** Takes masked text: the mask would not recognise half a secret. */
function shorten(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}… (${text.length} characters)`;
}

function summaryOf(marks: readonly CheckResult['mark'][]): string {
  const count = (wanted: CheckResult['mark']) => marks.filter((mark) => mark === wanted).length;
  const [failures, total] = [count('failed'), count('passed') + count('failed')];
  const rest = count('skipped') === 0 ? '' : `, ${count('skipped')} skipped`;
  if (failures === 0) return `It keeps the protocol: ${total} checks passed${rest}.`;
  return `${failures} of ${total} checks failed${rest}.`;
}
