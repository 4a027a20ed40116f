import { mainHold } from '../../orchestrator/holds.js';
import { isAsking, type State } from '../../orchestrator/state.js';
import { whyNotReady } from '../api/why-idle.js';

/** What a notice to systemd says. */
export interface Signs {
  readonly isReady?: boolean;
  readonly isAlive?: boolean;
  readonly isStopping?: boolean;
}

const MAX_STATUS_CHARS = 200;

/** The words of one notice; none when there is nothing to say. `said`: the status that systemd has. */
export function noticeOf(signs: Signs, sentence: string, said: string | null) {
  const status = oneLine(sentence);
  const words = [
    ...(signs.isReady ? ['READY=1'] : []),
    ...(signs.isStopping ? ['STOPPING=1'] : []),
    ...(signs.isAlive ? ['WATCHDOG=1'] : []),
    ...(status === said || status === '' ? [] : [`STATUS=${status}`]),
  ];
  return { words, status };
}

/** A line break would begin another word to systemd, and the sentence may hold what a tracker wrote. */
function oneLine(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  const characters = [...line];
  return characters.length > MAX_STATUS_CHARS ? `${characters.slice(0, MAX_STATUS_CHARS - 1).join('')}…` : line;
}

/** How often systemd must hear that we live: twice in the time it gives us. `null`: it does not ask, or not us. */
export function watchdogMs(env: NodeJS.ProcessEnv, pid: number): number | null {
  const { WATCHDOG_USEC: limit = '', WATCHDOG_PID: whom = '' } = env;
  if (!/^[1-9]\d{0,17}$/.test(limit)) return null;
  if (whom !== '' && whom !== String(pid)) return null;
  // A timer of Node rings at once when it is set for longer than it can count.
  return Math.min(Math.max(1, Math.floor(Number(limit) / 2_000)), 2 ** 31 - 1);
}

/** One short sentence for `systemctl status`. Pure. */
export function serviceSentence(state: State): string {
  const claims = Object.values(state.claims);
  const running = claims.filter(({ status }) => status.kind === 'running').length;
  const asking = claims.filter(isAsking).length;
  const counts: [number, string][] = [
    [running - asking, 'running'],
    [asking, 'asking'],
    [claims.filter(({ status }) => status.kind === 'waiting').length, 'waiting'],
    [claims.filter(({ status }) => status.kind === 'parked').length, 'parked'],
  ];
  const told = counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  const issues = told.length === 0 ? 'No issue in work.' : `Issues: ${told.join(', ')}.`;
  const obstacle = whyNotReady(state);
  // A hold's message may be long; its code is enough to look it up.
  const hold = mainHold(state);
  const why = hold !== null && state.shutdown === null ? `On hold (${hold.hold.code}).` : obstacle;
  return why === null ? issues : `${why} ${issues}`;
}
