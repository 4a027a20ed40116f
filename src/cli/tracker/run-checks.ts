import { toBatonError } from '../../domain/errors.js';
import type { ProgramProcess } from '../../tracker/program.js';
import { CHANGE_CHECKS } from './change-checks.js';
import { PROCESS_CHECKS, SUMMARY_CHECKS } from './process-checks.js';
import { READ_CHECKS } from './read-checks.js';
import type { Check, TestBench } from './test-bench.js';
import { CheckEnd, Conversation, exchange, failCheck, type Verdict } from './test-bench.js';

export interface SuiteOptions {
  readonly limitMs: number;
  /** In which issues are looked for. */
  readonly states: readonly string[];
  /** An issue that may be commented on and moved. */
  readonly writeId: string | null;
  /** Takes secrets out of a text. */
  mask(text: string): string;
  /** Ends the suite early. */
  readonly signal: AbortSignal;
  /** `countable`: in a form of containment that lets us see what the program leaves behind. */
  start(form: 'usual' | 'countable'): Promise<StartedProgram>;
}

export interface StartedProgram {
  readonly process: ProgramProcess;
  /** How many processes of it are alive. */
  living(): Promise<number>;
}

export interface CheckResult extends Verdict {
  readonly law: string;
}

/** In the order in which they build on each other. */
const CHECKS = [...READ_CHECKS, ...CHANGE_CHECKS, ...PROCESS_CHECKS, ...SUMMARY_CHECKS];

/** Holds a tracker program to the protocol, for real, and tells what came of it as it comes. */
export async function* runChecks(
  options: SuiteOptions,
  checks: readonly Check[] = CHECKS,
): AsyncGenerator<CheckResult> {
  const { limitMs, signal, states, writeId } = options;
  const talk = new Conversation({ ...options, start: async () => (await options.start('usual')).process });
  const bench: TestBench = {
    ...{ talk, limitMs, states, writeId, records: [], description: null, parting: null },
    async exchange(request) {
      const { process, living } = await options.start('countable');
      return exchange(process, { limitMs, ...request, signal, living });
    },
  };
  try {
    for (const check of checks) {
      if (signal.aborted) return;
      const result = { law: check.law, ...(await verdictOf(check, bench)) };
      if (signal.aborted) return;
      if (talk.answers > 0) yield result;
      // With what says nothing there is no talking.
      else return yield { ...result, action: `${result.action ?? ''} Then try again: nothing else was checked.` };
    }
  } finally {
    await talk.close();
  }
}

async function verdictOf(check: Check, bench: TestBench): Promise<Verdict> {
  try {
    return await check.see(bench);
  } catch (error) {
    if (error instanceof CheckEnd) return error.verdict;
    return failCheck(`could not be started: ${toBatonError(error).message}`, 'Correct that.');
  }
}
