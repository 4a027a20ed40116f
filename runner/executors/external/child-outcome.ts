import { cancelled, failure, type Outcome, success } from '../../../src/domain/outcome.js';
import type { ChildReport } from './run-child.js';

const MAX_MESSAGE_CHARS = 4_000;

/** Pure. What the end of a child means, by version 1 of the protocol: its exit code, and never what it printed on stdout. */
export function childOutcome(report: ChildReport, executor: string, signal: AbortSignal): Outcome {
  const { status, durationMs, envelopeWasRead } = report;
  if (report.wasAborted) return cancelled(signal.reason);
  if (status.code === null) {
    const message = `the executor ${executor} was killed by ${status.signal ?? 'a signal'}, which Baton did not send`;
    return failure('AGENT_CANCELLED', message, { state: 'cancelled' });
  }
  if (status.code !== 0) return failure('AGENT_INVOCATION_FAILED', complaint(report, executor));
  if (!envelopeWasRead) {
    const message = `the executor ${executor} ended with exit code 0, but did not read all of its input: it must read stdin to the end before it does anything else`;
    return failure('AGENT_INVOCATION_FAILED', message);
  }
  return success({ exit_code: 0, duration_ms: durationMs });
}

function complaint({ stderr, status }: ChildReport, executor: string): string {
  const text = stderr.trim();
  return text === ''
    ? `the executor ${executor} printed nothing on stderr and ended with exit code ${status.code}`
    : cut(text);
}

/** Its end is what tells most. No half of a pair is left in front. */
function cut(text: string): string {
  if (text.length <= MAX_MESSAGE_CHARS) return text;
  return `… ${text.slice(-MAX_MESSAGE_CHARS).replace(/^[\udc00-\udfff]/, '')}`;
}
