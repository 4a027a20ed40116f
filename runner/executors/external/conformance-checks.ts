import type { Envelope } from './envelope.js';
import type { ChildReport } from './run-child.js';

/** One thing that an executor is held to: what it is given, how, and what is made of its end. Plain data. */
export interface Check {
  readonly name: string;
  /** What a good executor does, as a sentence without its subject. */
  readonly law: string;
  readonly text: (envelope: Envelope) => string;
  /** `unfinished`: the end never comes, and the executor is told to stop. */
  readonly delivery: 'whole' | 'in_pieces' | 'unfinished';
  readonly judge: (seen: Seen) => Verdict;
}

export interface Seen extends ChildReport {
  /** How many of its processes lived on after it. */
  readonly leftBehind: number;
  readonly limitMs: number;
}

/** `told`: there is no right or wrong. */
export interface Verdict {
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

export function failed(why: string, action: string): Verdict {
  return { mark: 'failed', why, action };
}

const MAX_SHOWN_CHARS = 300;

function lastLine(text: string): string {
  return (text.trim().split('\n').at(-1) ?? '').slice(-MAX_SHOWN_CHARS);
}
