import { randomUUID } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import type { Logger } from 'pino';
import { mainHold } from '../../orchestrator/holds.js';
import { isAsking, type State } from '../../orchestrator/state.js';
import { captureOutput } from '../../runner/contain/capture-output.js';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import { spawnContained } from '../../runner/contain/spawn-contained.js';
import { SYSTEM_PATH } from '../../runner/contain/start-process.js';
import { whyNotReady } from '../api/why-idle.js';
import type { Clock } from '../domain/clock.js';
import { BatonError, toBatonError } from '../domain/errors.js';

/**
 * Notifies systemd that the daemon is ready, alive, stopping, and what it does. Node does not support this kind of datagram socket, so each
 * notice is a call of `systemd-notify`. One call runs at a time; signs that come meanwhile are sent by the next one.
 *
 * silent ── ready() ──▶ ready: a sign of life at every tick ── stopping() ──▶ stopping: ticks go on ── close() ──▶ silent
 *                        └── faulted() ──▶ no further notices; systemd restarts the daemon if it does not exit by itself
 */
export interface ServiceNotifier {
  /** The daemon has started. Settles when systemd is notified or cannot be. Never rejects. */
  ready(): Promise<void>;
  /** An orderly shutdown has begun. */
  stopping(): void;
  /** The core has failed: no further sign of life is sent. */
  faulted(): void;
  /** Settles when no call is active. Never rejects. */
  close(): Promise<void>;
}

interface ServiceNotifierOptions {
  /** The daemon's environment. Without NOTIFY_SOCKET nothing is sent. */
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly log: Logger;
  /** One short sentence for `systemctl status`. Called every few seconds. */
  status(): string;
  /** For tests: the path of `systemd-notify`. */
  readonly program?: string;
  /** For tests: an interval timer. Returns a function that stops it. It uses plain time, as systemd does, not awake time. */
  every?(ms: number, callback: () => void): () => void;
}

/** The interval between checks of the status. It is sent only when it has changed. */
const STATUS_MS = 10_000;
const CALL_LIMIT_MS = 10_000;

export function createServiceNotifier(options: ServiceNotifierOptions): ServiceNotifier {
  const { env, every = repeat } = options;
  const socket = env.NOTIFY_SOCKET;
  if (socket === undefined || socket === '') return SILENT;
  const send = createSender(options, socket);
  const lifeMs = watchdogMs(env, process.pid);
  let stopTicking = () => {};
  const silence = () => {
    stopTicking();
    send.end();
  };
  return {
    ready() {
      stopTicking();
      const stops = [every(STATUS_MS, () => void send.add({}))];
      if (lifeMs !== null) stops.push(every(lifeMs, () => void send.add({ isAlive: true })));
      stopTicking = () => stops.forEach((stop) => void stop());
      return send.add({ isReady: true, isAlive: lifeMs !== null });
    },
    stopping() {
      void send.add({ isStopping: true });
    },
    faulted: silence,
    async close() {
      silence();
      await send.idle();
    },
  };
}

const SILENT: ServiceNotifier = { ready: async () => {}, stopping() {}, faulted() {}, close: async () => {} };

function createSender(options: ServiceNotifierOptions, socket: string) {
  let waiting: Signs | null = null;
  /** Signs that could not be sent are sent with the next notice: systemd ends a daemon that never becomes ready. */
  let unsent: Signs = {};
  let working: Promise<void> | null = null;
  let isEnded = false;
  let lastStatus: string | null = null;
  let hasFailed = false;

  const sendOne = async (signs: Signs) => {
    const { words, status } = noticeOf(signs, options.status(), lastStatus);
    if (words.length === 0) return;
    await notify(words, options, socket);
    lastStatus = status;
  };
  const work = async () => {
    while (waiting !== null) {
      const signs: Signs = waiting;
      waiting = null;
      await sendOne(signs).then(
        () => {
          hasFailed = false;
        },
        (error: unknown) => {
          const fields = { detail: toBatonError(error).message };
          if (!hasFailed) options.log.error(fields, 'systemd could not be notified, it may restart this daemon');
          hasFailed = true;
          unsent = isEnded ? {} : { ...unsent, ...signs };
        },
      );
    }
    working = null;
  };
  return {
    add(signs: Signs): Promise<void> {
      if (isEnded) return Promise.resolve();
      waiting = { ...unsent, ...waiting, ...signs };
      unsent = {};
      working ??= work();
      return working;
    },
    /** Drops all signs that were not sent, except the sign that the daemon stops. */
    end() {
      isEnded = true;
      waiting = waiting?.isStopping ? { isStopping: true } : null;
    },
    idle: async () => (await working) ?? undefined,
  };
}

/** Throws when `systemd-notify` fails. */
async function notify(
  words: readonly string[],
  { clock, program = 'systemd-notify' }: ServiceNotifierOptions,
  socket: string,
): Promise<void> {
  const containment = await detectContainment({ isolation: 'none', hide: [], clock });
  const { dev, ino } = await lstat('/');
  const env = { NOTIFY_SOCKET: socket, PATH: SYSTEM_PATH };
  const place = { cwd: '/', identity: { dev, ino }, marker: `notify-${randomUUID()}` };
  const child = await spawnContained({ file: program, args: words, env, stdin: 'ignore', ...place }, containment);
  const cancel = clock.after(CALL_LIMIT_MS, () => void child.stop({ termMs: 500 })); // Awaited below.
  try {
    const { status, stderr } = await captureOutput(child, { maxBytes: 2_000, clock, drainMs: 500 });
    if (status.code === 0) return;
    const how = `systemd-notify ended with ${status.code ?? status.signal} ${stderr}`.trim();
    throw new BatonError('internal_error', how);
  } finally {
    cancel();
    await child.stop({ termMs: 500 });
  }
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

/** The arguments for one notice; none when nothing has to be sent. `lastStatus`: the status that systemd has. */
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
