import { constants } from 'node:os';
import { cancelled, failure, type Outcome, success } from '../../../src/domain/outcome.js';
import type { ChildReport } from './run-child.js';

const MAX_MESSAGE_CHARS = 4_000;

/** Pure. What the end of a child means, by version 1 of the protocol: its exit code, and never what it printed on stdout. */
export function childOutcome(report: ChildReport, executor: string, signal: AbortSignal): Outcome {
  const { status, durationMs, envelopeWasRead } = report;
  if (report.wasAborted) return cancelled(signal.reason);
  if (status.code === null) {
    return failure('AGENT_CANCELLED', killed(report, executor), { state: 'cancelled' });
  }
  if (status.code !== 0) return failure('AGENT_INVOCATION_FAILED', complaint(report, executor));
  if (!envelopeWasRead) {
    const message = `the executor ${executor} ended with exit code 0, but did not read all of its input: it must read stdin to the end before it does anything else`;
    return failure('AGENT_INVOCATION_FAILED', message);
  }
  return success({ exit_code: 0, duration_ms: durationMs });
}

/** Shells end with 128 + the signal that killed what they ran, and a namespace does, too: which of the two it was cannot be told. */
function killed({ stderr, status }: ChildReport, executor: string): string {
  const { signal } = status;
  const code = signal === null ? '' : ` (exit code ${128 + constants.signals[signal]})`;
  const text = stderr.trim();
  const message = `the executor ${executor} was killed by ${signal ?? 'a signal'}${code}, which Baton did not send`;
  return text === '' ? message : `${message}: ${cut(text)}`;
}

function complaint({ stderr, status }: ChildReport, executor: string): string {
  const text = stderr.trim();
  return text === ''
    ? `the executor ${executor} printed nothing on stderr and ended with exit code ${status.code}`
    : cut(text);
}

/**
 * Its end is what tells most. It begins with a whole line or at least a whole word, where there is one soon: secrets are masked later, and
 * half of one would not be known for what it is.
 */
function cut(text: string): string {
  if (text.length <= MAX_MESSAGE_CHARS) return text;
  const end = text.slice(-MAX_MESSAGE_CHARS);
  const [partial = ''] = /^[^\n]{0,500}\n|^\S{0,500}\s|^[\udc00-\udfff]/.exec(end) ?? [];
  return `… ${end.slice(partial.length)}`;
}
