import type { Logger } from 'pino';
import type { Clock } from '../domain/clock.js';
import { toBatonError } from '../domain/errors.js';

const RETRY_MS = 60_000;

interface PortOptions<Server> {
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether the daemon goes on when another program has the port. */
  readonly mayLack: boolean;
  /** The log message for that case. */
  readonly lacking: string;
  /** Returns null when no port is wanted. Throws `port_in_use`. */
  listen(): Promise<Server | null>;
}

/** A server that listens on a port, now or as soon as another program has left it. */
export interface PortListener<Server> {
  /** Null while another program has the port, or when no port is wanted. */
  readonly server: Server | null;
  close(): Promise<void>;
}

/** Throws the error of `listen` when the daemon needs the port. Otherwise it tries again every minute. */
export async function listenOnPort<Server extends { close(): Promise<void> }>(
  options: PortOptions<Server>,
): Promise<PortListener<Server>> {
  const { clock, log, mayLack, lacking, listen } = options;
  let server: Server | null = null;
  let isClosed = false;
  let cancel = () => {};
  const listenOrRetry = async (isFirst: boolean): Promise<void> => {
    try {
      server = await listen();
    } catch (thrown) {
      const { code, message } = toBatonError(thrown);
      if (isFirst && (code !== 'port_in_use' || !mayLack)) throw thrown;
      if (isFirst) log.error({ code, detail: message }, lacking);
      if (isClosed) return;
      cancel = clock.after(RETRY_MS, () => {
        trying = listenOrRetry(false);
      });
    }
  };
  let trying = listenOrRetry(true);
  await trying;
  return {
    get server() {
      return server;
    },
    async close() {
      isClosed = true;
      cancel();
      await trying;
      await server?.close();
    },
  };
}
