import { neutraliseJson } from '../../text/neutralise.js';
import type { Io } from '../io.js';

/** For scripts, and as harmless on a terminal as in a file. Line by line: the line breaks between values are ours. */
export function printJson(value: unknown, { stdout }: Pick<Io, 'stdout'>): void {
  stdout.write(`${JSON.stringify(value, null, 2).split('\n').map(neutraliseJson).join('\n')}\n`);
}
