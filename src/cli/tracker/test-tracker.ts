import { createClock } from '../../clock.js';
import { neutralise } from '../../text/neutralise.js';
import { createRedactor } from '../../logging/redact.js';
import { complain } from '../capability/complain.js';
import { type Paint, painter } from '../check/print-findings.js';
import type { Io } from '../io.js';
import { programUnderTest, starterOf } from './program-under-test.js';
import { type CheckResult, runChecks } from './run-checks.js';

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
    return complain(error, 2, io);
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
