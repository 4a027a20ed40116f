import { writeSync } from 'node:fs';
import type { Logger } from 'pino';
import { mainHold } from '../../orchestrator/holds.js';
import { isAsking, type State } from '../../orchestrator/state.js';
import { whyNotReady } from '../api/why-idle.js';
import { BatonError } from '../domain/errors.js';

/**
 * Notifies systemd that the daemon is ready, alive, stopping, and what it does. systemd accepts notices of the main process only, so the
 * daemon writes them itself, to a socket that `src/cli/service/launch.pl` has connected before it became the daemon.
 *
 * silent ── ready() ──▶ ready: a sign of life at every tick ── stopping() ──▶ stopping: ticks go on ── close() ──▶ silent
 *                        └── faulted() ──▶ no further notices; systemd restarts the daemon if it does not exit by itself
 */
export interface ServiceNotifier {
  /** The daemon has started. */
  ready(): void;
  /** An orderly shutdown has begun. */
  stopping(): void;
  /** The core has failed: no further sign of life is sent. */
  faulted(): void;
  close(): void;
}

interface ServiceNotifierOptions {
  /** The daemon's environment. Without BATON_NOTIFY_FD nothing is sent. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  /** One short sentence for `systemctl status`. Called every few seconds. */
  status(): string;
  /** For tests: an interval timer. Returns a function that stops it. It uses plain time, as systemd does, not awake time. */
  every?(ms: number, callback: () => void): () => void;
}

/** The interval between checks of the status. It is sent only when it has changed. */
const STATUS_MS = 10_000;

/** Throws `outdated_service` when systemd waits for notices that this daemon cannot send. */
export function createServiceNotifier(options: ServiceNotifierOptions): ServiceNotifier {
  const { env, every = repeat } = options;
  const fd = notifyDescriptor(env, process.pid);
  if (fd === null) return SILENT;
  const lifeMs = watchdogMs(env, process.pid);
  let send = createSender(options, fd);
  let stopTicking = () => {};
  const end = () => {
    stopTicking();
    send = () => {};
  };
  return {
    ready() {
      stopTicking();
      const stops = [every(STATUS_MS, () => send({}))];
      if (lifeMs !== null) stops.push(every(lifeMs, () => send({ isAlive: true })));
      stopTicking = () => stops.forEach((stop) => void stop());
      send({ isReady: true, isAlive: lifeMs !== null });
    },
    stopping() {
      send({ isStopping: true });
    },
    faulted: end,
    close: end,
  };
}

const SILENT: ServiceNotifier = { ready() {}, stopping() {}, faulted() {}, close() {} };

/** Returns null when systemd does not wait for notices of this process. Throws `outdated_service`. */
function notifyDescriptor(env: NodeJS.ProcessEnv, pid: number): number | null {
  const { NOTIFY_SOCKET: socket = '', BATON_NOTIFY_FD: fd = '' } = env;
  if (socket === '') return null;
  if (/^[1-9]\d{0,3}$/.test(fd)) return Number(fd);
  // A shell that itself runs in a service may pass NOTIFY_SOCKET on; then systemd waits for another process.
  if (![env.SYSTEMD_EXEC_PID, env.WATCHDOG_PID].includes(String(pid))) return null;
  const message = 'the unit of this service cannot notify systemd: run `baton service install` again with this version';
  throw new BatonError('outdated_service', message);
}

/** Whether systemd has started this process: a fault that a person could fix at once on a terminal must not end it. */
export function isService(env: NodeJS.ProcessEnv, pid: number): boolean {
  return notifyDescriptor(env, pid) !== null || env.SYSTEMD_EXEC_PID === String(pid);
}

/** Returns a function that sends signs and a changed status. Signs that could not be sent are sent with the next notice. */
function createSender({ log, status }: ServiceNotifierOptions, fd: number): (signs: Signs) => void {
  let unsent: Signs = {};
  let lastStatus: string | null = null;
  let hasFailed = false;
  return (signs) => {
    const all = { ...unsent, ...signs };
    const notice = noticeOf(all, status(), lastStatus);
    if (notice.words.length === 0) return;
    try {
      writeSync(fd, notice.words.join('\n'));
      lastStatus = notice.status;
      unsent = {};
      hasFailed = false;
    } catch (error) {
      const fields = { detail: (error as Error).message };
      if (!hasFailed) log.error(fields, 'systemd could not be notified, it may restart this daemon');
      hasFailed = true;
      unsent = all;
    }
  };
}

function repeat(ms: number, callback: () => void): () => void {
  const timer = setInterval(callback, ms);
  timer.unref();
  return () => clearInterval(timer);
}

/** The content of a notice to systemd. */
interface Signs {
  readonly isReady?: boolean;
  readonly isAlive?: boolean;
  readonly isStopping?: boolean;
}

const MAX_STATUS_CHARS = 200;

/** The lines of one notice; none when nothing has to be sent. `lastStatus`: the status that systemd has. */
export function noticeOf(signs: Signs, sentence: string, lastStatus: string | null) {
  const status = oneLine(sentence);
  const words = [
    ...(signs.isReady ? ['READY=1'] : []),
    ...(signs.isStopping ? ['STOPPING=1'] : []),
    ...(signs.isAlive ? ['WATCHDOG=1'] : []),
    ...(status === lastStatus || status === '' ? [] : [`STATUS=${status}`]),
  ];
  return { words, status };
}

/** A line break would start another assignment for systemd, and the sentence may contain text from a tracker. */
function oneLine(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  const characters = [...line];
  return characters.length > MAX_STATUS_CHARS ? `${characters.slice(0, MAX_STATUS_CHARS - 1).join('')}…` : line;
}

/** The interval of signs of life: half of systemd's watchdog time. Returns null when systemd does not watch this process. */
export function watchdogMs(env: NodeJS.ProcessEnv, pid: number): number | null {
  const { WATCHDOG_USEC: limit = '', WATCHDOG_PID: whom = '' } = env;
  if (!/^[1-9]\d{0,17}$/.test(limit)) return null;
  if (whom !== '' && whom !== String(pid)) return null;
  // Node fires a timer at once when its delay exceeds 31 bits.
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
  const shown = counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  const issues = shown.length === 0 ? 'No issue in work.' : `Issues: ${shown.join(', ')}.`;
  const obstacle = whyNotReady(state);
  // The message of a hold can be long; its code is enough to find it.
  const hold = mainHold(state);
  const why = hold !== null && state.shutdown === null ? `On hold (${hold.hold.code}).` : obstacle;
  return why === null ? issues : `${why} ${issues}`;
}
