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
 * The daemon as a service of systemd: says that it is up, that it lives, what it does, and that it stops. Node has no datagram
 * sockets of this kind, so each notice is a call of `systemd-notify`; one at a time, and what comes meanwhile goes with the next.
 *
 * silent ── ready() ──▶ up: a sign of life at every tick ── stopping() ──▶ stopping: ticks go on ── close() ──▶ silent
 *                        └── faulted() ──▶ nothing any more, and systemd ends and restarts us if we do not end ourselves
 */
export interface ServiceNotifier {
  /** The daemon works. Settles when it was told, or could not be. Never rejects. */
  ready(): Promise<void>;
  /** An orderly shutdown has begun. */
  stopping(): void;
  /** The core cannot be trusted any more: no further sign of life. */
  faulted(): void;
  /** Everything is closed. Settles when no call is under way. Never rejects. */
  close(): Promise<void>;
}

interface ServiceNotifierOptions {
  /** Of the daemon: without NOTIFY_SOCKET nothing is ever done. */
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly log: Logger;
  /** One short sentence for `systemctl status`. Asked every few seconds. */
  status(): string;
  /** For tests: where `systemd-notify` is. */
  readonly program?: string;
  /** For tests: a timer that repeats. Returns how to stop it. Plain time, as systemd counts it, and not that of the clock. */
  every?(ms: number, callback: () => void): () => void;
}

/** How often the status is looked at; it is sent only when it is another. */
const STATUS_MS = 10_000;
const CALL_LIMIT_MS = 10_000;

export function createServiceNotifier(options: ServiceNotifierOptions): ServiceNotifier {
  const { env, every = repeat } = options;
  const socket = env.NOTIFY_SOCKET;
  if (socket === undefined || socket === '') return SILENT;
  const send = createSender(options, socket);
  const lifeMs = watchdogMs(env, process.pid);
  let stopTicking = () => {};
  const beSilent = () => {
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
    faulted: beSilent,
    async close() {
      beSilent();
      await send.idle();
    },
  };
}

const SILENT: ServiceNotifier = { ready: async () => {}, stopping() {}, faulted() {}, close: async () => {} };

function createSender(options: ServiceNotifierOptions, socket: string) {
  let waiting: Signs | null = null;
  /** What failed goes with the next notice: a daemon that is never heard to be ready would be ended. */
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
          if (!hasFailed) options.log.error(fields, 'systemd could not be told, it may restart this daemon');
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
    /** What was not sent by now is not sent at all, but for the word that we stop. */
    end() {
      isEnded = true;
      waiting = waiting?.isStopping ? { isStopping: true } : null;
    },
    idle: async () => (await working) ?? undefined,
  };
}

/** Throws when it could not be told. */
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

/** What a notice to systemd says. */
interface Signs {
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
