import { toBatonError } from '../../../src/domain/errors.js';
import { withinLimit } from '../../../src/domain/time-limit.js';
import type { StepContext } from '../executor.js';
import { StepStopped } from './answers.js';

const LIMIT_MS = 2_000;

/**
 * Tells a service that something of ours can go. Best effort: it has two seconds and a signal of its own, as the step may be stopped
 * already, and a failure is only worth a warning. Never throws.
 */
export async function lastWords(
  context: Pick<StepContext, 'clock' | 'warn'>,
  warning: string,
  say: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const onLate = () => new StepStopped(`no answer within ${LIMIT_MS} ms`);
  await withinLimit(context.clock, LIMIT_MS, say, onLate).catch((error) => {
    context.warn(warning, { error: toBatonError(error).message });
  });
}

/** The same while the step goes on: it is over when the run is, and nobody else waits for it. */
export function lastWordsMeanwhile(
  context: StepContext,
  warning: string,
  say: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const open = context.run.get('http/last-words', () => {
    const words = new Set<Promise<void>>();
    context.run.atEnd(async () => void (await Promise.all(words)));
    return words;
  });
  const words: Promise<void> = lastWords(context, warning, say).finally(() => open.delete(words));
  open.add(words);
  return words;
}
