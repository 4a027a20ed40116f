import type { ContainedProcess } from './contain/process.js';

/**
 * A process whose `stop` settles only once nothing of it is left, and says meanwhile that it cannot be killed. Its output
 * ends no sooner, so whoever waits for both would never come to say it.
 */
export function untilGone(
  process: ContainedProcess,
  onUnkillable: (survivors: readonly number[]) => void,
): ContainedProcess {
  return {
    ...process,
    async stop(ladder) {
      const result = await process.stop(ladder);
      if (!result.gone) {
        onUnkillable(result.survivors);
        await result.whenGone;
      }
      return result;
    },
  };
}
