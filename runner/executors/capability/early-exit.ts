import type { ExitStatus } from '../../process.js';
import { failed, type SideEnd } from './side-end.js';

/**
 * What it means that a child ended without an answer. Node.js tells of code that it cannot compile on stderr, with nothing but
 * its own frames below: a SyntaxError that the code itself ran into (`JSON.parse`) has others.
 */
export function endOfExit(status: ExitStatus, stderr: string, wasConnected: boolean): SideEnd {
  const complaint = wasConnected || status.code === 0 ? null : syntaxError(stderr);
  if (complaint !== null) return failed('SYNTAX_ERROR', complaint);
  const how = status.signal === null ? `exited with code ${status.code}` : `was killed by ${status.signal}`;
  const when = wasConnected ? 'before it answered' : 'before it connected';
  return failed('PROCESS_CRASHED', `the executor ${how} ${when}`);
}

function syntaxError(stderr: string): string | null {
  const lines = stderr.split('\n');
  const at = lines.findLastIndex((line) => line.startsWith('SyntaxError: '));
  if (at < 0 || !/^\s+at .*\bnode:internal\//.test(lines[at + 1] ?? '')) return null;
  const place = lines.slice(0, at).findLast((line) => /^(?:file:\/\/)?\/.*:\d+$/.test(line));
  return place === undefined ? (lines[at] ?? '') : `${place}: ${lines[at]}`;
}
