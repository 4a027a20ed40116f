import type { Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { requestLine } from '../../tracker/command/protocol.js';
import { type Check, type CheckResult, fail, info, passed, runChecks } from './checks.js';
import { type ProcessRun, replyId, TrackerBench, type TrackerTestOptions } from './tracker-bench.js';
import { CHANGE_CHECKS } from './tracker-change-checks.js';
import { READ_CHECKS } from './tracker-read-checks.js';

const ODD_TEXT = 'a "quoted" \\ text\r\n\twith \u2028 separators, Ünïcödé, 日本語, \u202eright to left\u202c and 🧪';
const PIECE_BYTES = 13;
const GARBAGE = 'this is {no JSON';
/** Enough for behaviour that is only described. */
const INFO_LIMIT_MS = 2_000;
const STDERR_ONLY = 'Write nothing but answers to stdout, one line for each request; everything else goes to stderr.';

const request = (id: number, ids: readonly string[] = []) =>
  requestLine(id, { method: 'issues_by_ids', params: { ids } });

/** Each starts a separate process. */
const PROCESS_CHECKS: readonly Check<TrackerBench>[] = [
  {
    name: 'pieces',
    law: 'reads a request that comes in pieces, with any text in it',
    async run(bench) {
      const sent = request(3, [ODD_TEXT]);
      const run = await bench.runProcess({ deliver: (stdin) => writeInPieces(stdin, `${sent}\n`), until: 3 });
      if (answeredIds(run).includes(3)) return passed();
      const action = 'Read whole lines as UTF-8, and parse them as JSON.';
      return fail(endOf(run), action, { sent, received: run.lines[0] ?? null });
    },
  },
  {
    name: 'only_answers',
    law: 'writes nothing but answers',
    async run(bench) {
      const { lines } = await singleAnswer(bench);
      if (lines.length === 1) return passed();
      const problem = lines.length === 0 ? 'wrote nothing' : `wrote ${lines.length} lines`;
      return fail(problem, STDERR_ONLY, { sent: SINGLE, received: lines.join(' ⏎ ') });
    },
  },
  {
    name: 'exits_on_eof',
    law: 'exits when its stdin ends',
    async run(bench) {
      const { endedOnEof } = await singleAnswer(bench);
      if (endedOnEof) return passed();
      return fail('was still there after 1 s', 'Exit at the end of stdin: Baton ends it by force half a second later.');
    },
  },
  {
    name: 'leaves_nothing',
    law: 'leaves no process behind',
    async run(bench) {
      const { endedOnEof, leftBehind } = await singleAnswer(bench);
      if (!endedOnEof) return info('it did not end by itself');
      if (leftBehind === 0) return passed();
      const processes = leftBehind === 1 ? '1 process' : `${leftBehind} processes`;
      return fail(`left ${processes} behind`, 'Wait for what it starts, or end it: Baton kills it.');
    },
  },
  {
    name: 'two_requests',
    law: 'was given two requests at once',
    async run(bench) {
      const both = `${request(13)}\n${request(20)}\n`;
      const run = await bench.runProcess({ deliver: (stdin) => write(stdin, both), until: 20, limitMs: INFO_LIMIT_MS });
      const ids = answeredIds(run);
      if (ids.join() === '13,20') return info('it answered both');
      const action = 'Baton waits for each answer, so this is fine.';
      return info(`it answered ${ids.length === 0 ? 'neither' : ids.join(', ')}`, action);
    },
  },
  {
    name: 'nonsense',
    law: 'was given a line that is not JSON',
    async run(bench) {
      const both = `${GARBAGE}\n${request(27)}\n`;
      const run = await bench.runProcess({ deliver: (stdin) => write(stdin, both), until: 27, limitMs: INFO_LIMIT_MS });
      if (answeredIds(run).includes(27)) return info('it went on to the next line');
      return info(`it ${endOf(run)}`, 'That does no harm: Baton sends no such lines.');
    },
  },
];

/** About all requests before. */
const SUMMARY_CHECKS: readonly Check<TrackerBench>[] = [
  {
    name: 'speed',
    law: 'answered',
    async run({ conversation, options }) {
      const { ms, method } = conversation.slowest;
      return info(`within ${Math.ceil(ms)} ms, ${method} being the slowest; the limit is ${options.limitMs / 1000} s`);
    },
  },
  {
    name: 'starts',
    law: 'was started',
    async run({ conversation: { starts, answers } }) {
      if (starts === 1) return info(`once for ${answers} answers`);
      const action = 'That is fine, but every request then waits for its start.';
      return info(`${starts} times for ${answers} answers`, starts >= answers ? action : null);
    },
  },
];

/** In this order: later checks use what earlier ones have learned. */
const TRACKER_CHECKS = [...READ_CHECKS, ...CHANGE_CHECKS, ...PROCESS_CHECKS, ...SUMMARY_CHECKS];

/** Checks a tracker program against the protocol. */
export async function* checkTrackerProgram(
  options: TrackerTestOptions,
  checks: readonly Check<TrackerBench>[] = TRACKER_CHECKS,
): AsyncGenerator<CheckResult> {
  const bench = new TrackerBench(options);
  const { conversation } = bench;
  try {
    // A program without a single answer cannot be checked further.
    yield* runChecks(checks, bench, { signal: options.signal, canContinue: () => conversation.answers > 0 });
  } finally {
    await conversation.close();
  }
}

const SINGLE = request(5);

function singleAnswer(bench: TrackerBench): Promise<ProcessRun> {
  return bench.singleAnswer({ deliver: (stdin) => write(stdin, `${SINGLE}\n`), until: 5 });
}

function write(stdin: Writable, text: string): void {
  stdin.write(text);
}

async function writeInPieces(stdin: Writable, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length && stdin.writable; start += PIECE_BYTES) {
    stdin.write(bytes.subarray(start, start + PIECE_BYTES));
    await pause(1);
  }
}

function answeredIds({ lines }: ProcessRun): unknown[] {
  return lines.map(replyId).filter((id) => id !== undefined);
}

function endOf({ endedEarly, lines }: ProcessRun): string {
  if (lines.length > 0) return 'answered something else';
  return endedEarly === null ? 'did not answer' : `${endedEarly} without an answer`;
}
