import { randomUUID } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import type { Logger } from 'pino';
import { captureOutput } from '../../runner/contain/capture-output.js';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import { SYSTEM_PATH } from '../../runner/contain/namespace-command.js';
import { runContained } from '../../runner/contain/run-contained.js';
import type { Clock } from '../domain/clock.js';
import { BatonError, toBatonError } from '../domain/errors.js';
import { noticeOf, type Signs, watchdogMs } from './service-notice.js';

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

export interface ServiceNotifierOptions {
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
  const child = await runContained({ file: program, args: words, env, stdin: 'ignore', ...place }, containment);
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
