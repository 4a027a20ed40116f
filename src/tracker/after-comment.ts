import { BatonError, toBatonError } from '../domain/errors.js';

/**
 * A move after a comment that may have been written. Where it fails, in whatever way, the agent must hear what has happened all the same: it would write the comment
 * once more with its next try. The code stays, since a limit is one and a refusal is one.
 */
export async function afterComment<Result>(comment: string | undefined, move: () => Promise<Result>): Promise<Result> {
  try {
    return await move();
  } catch (error) {
    if (comment === undefined) throw error;
    const { code, message, details } = toBatonError(error);
    const told = `The comment is written, do not repeat it; but the move failed. ${message}`;
    throw new BatonError(code, told, details, { cause: error });
  }
}
