import type { Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { lineOf } from '../../tracker/command/protocol.js';
import type { Check, TestBench } from './test-bench.js';
import { type Exchange, fail, idIn, passed, told } from './test-bench.js';

const ODD_TEXT = 'a "quoted" \\ text\r\n\twith \u2028 separators, Ünïcödé, 日本語, \u202eright to left\u202c and 🧪';
const PIECE_BYTES = 13;
const GARBAGE = 'this is {no JSON';
/** Long enough for what nobody depends on. */
const CURIOUS_MS = 2_000;
const STDERR_ONLY = 'Write nothing but answers to stdout, one line for each request; everything else goes to stderr.';

const request = (id: number, ids: readonly string[] = []) => lineOf(id, { method: 'issues_by_ids', params: { ids } });

/** In processes of their own. */
export const PROCESS_CHECKS: readonly Check[] = [
  {
    law: 'reads a request that comes in pieces, with any text in it',
    async see(bench) {
      const sent = request(3, [ODD_TEXT]);
      const seen = await bench.exchange({ deliver: (stdin) => giveInPieces(stdin, `${sent}\n`), until: 3 });
      if (answersIn(seen).includes(3)) return passed();
      const action = 'Read whole lines as UTF-8, and parse them as JSON.';
      return fail(endOf(seen), action, { sent, came: seen.lines[0] ?? null });
    },
  },
  {
    law: 'writes nothing but answers',
    async see(bench) {
      const sent = request(5);
      const { lines } = await oneAnswer(bench, sent);
      if (lines.length === 1) return passed();
      const why = lines.length === 0 ? 'wrote nothing' : `wrote ${lines.length} lines`;
      return fail(why, STDERR_ONLY, { sent, came: lines.join(' ⏎ ') });
    },
  },
  {
    law: 'exits when its stdin ends',
    async see(bench) {
      const { endedOnEof } = await oneAnswer(bench);
      if (endedOnEof) return passed();
      return fail('was still there after 1 s', 'Exit at the end of stdin: Baton ends it by force half a second later.');
    },
  },
  {
    law: 'leaves no process behind',
    async see(bench) {
      const seen = await oneAnswer(bench);
      if (!seen.endedOnEof) return told('it did not end by itself');
      if (seen.leftBehind === 0) return passed();
      const what = seen.leftBehind === 1 ? '1 process' : `${seen.leftBehind} processes`;
      return fail(`left ${what} behind`, 'Wait for what it starts, or end it: Baton kills it.');
    },
  },
  {
    law: 'was given two requests at once',
    async see(bench) {
      const both = `${request(13)}\n${request(20)}\n`;
      const seen = await bench.exchange({ deliver: (stdin) => give(stdin, both), until: 20, limitMs: CURIOUS_MS });
      const ids = answersIn(seen);
      if (ids.join() === '13,20') return told('it answered both');
      return told(
        `it answered ${ids.length === 0 ? 'neither' : ids.join(', ')}`,
        'Baton waits for each answer; it need not.',
      );
    },
  },
  {
    law: 'was given a line that is no JSON',
    async see(bench) {
      const both = `${GARBAGE}\n${request(27)}\n`;
      const seen = await bench.exchange({ deliver: (stdin) => give(stdin, both), until: 27, limitMs: CURIOUS_MS });
      if (answersIn(seen).includes(27)) return told('it went on to the next line');
      return told(`it ${endOf(seen)}`, 'That does no harm: Baton sends none.');
    },
  },
];

/** The same for all that look at how a process of one answer parts. */
async function oneAnswer(bench: TestBench, sent = request(5)): Promise<Exchange> {
  bench.parting ??= await bench.exchange({
    deliver: (stdin) => give(stdin, `${sent}\n`),
    until: 5,
    isWatched: true,
  });
  return bench.parting;
}

/** How the talking as a whole went. */
export const SUMMARY_CHECKS: readonly Check[] = [
  {
    law: 'answered',
    async see({ talk, limitMs }) {
      const { ms, method } = talk.slowest;
      return told(`within ${Math.ceil(ms)} ms, ${method} being the slowest; the limit is ${limitMs / 1000} s`);
    },
  },
  {
    law: 'was started',
    async see({ talk: { starts, answers } }) {
      if (starts === 1) return told(`once for ${answers} answers`);
      const action = 'That is fine, but every request then waits for its start.';
      return told(`${starts} times for ${answers} answers`, starts >= answers ? action : null);
    },
  },
];

function give(stdin: Writable, text: string): void {
  stdin.write(text);
}

async function giveInPieces(stdin: Writable, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length && stdin.writable; start += PIECE_BYTES) {
    stdin.write(bytes.subarray(start, start + PIECE_BYTES));
    await pause(1);
  }
}

/** The ids of the answers among its lines. */
function answersIn({ lines }: Exchange): unknown[] {
  return lines.map(idIn).filter((id) => id !== undefined);
}

function endOf({ endedEarly, lines }: Exchange): string {
  if (lines.length > 0) return 'answered something else';
  return endedEarly === null ? 'did not answer' : `${endedEarly} without an answer`;
}
