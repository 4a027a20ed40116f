import { toBatonError } from '../../domain/errors.js';
import { neutraliseLines } from '../../text/neutralise.js';
import type { Io } from '../io.js';

/** Says what is wrong; the exit code. */
export function complain(error: unknown, exitCode: 1 | 2, io: Io): number {
  const { code, message } = toBatonError(error);
  io.stderr.write(`baton: ${neutraliseLines(`${code}: ${message}`)}\n`);
  return exitCode;
}
