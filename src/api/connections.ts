import type { Socket } from 'node:net';

/**
 * The connections of a port, with separate room for those that have shown the token.
 *
 * States: a new connection is a stranger's. It becomes a holder's when a request on it shows the token, and stays so until it closes. When
 * there are too many strangers, those that have sent nothing for the longest time are dropped. So a flood of strangers drops its own
 * connections, the newest connection always gets its turn, and holders are never dropped.
 */
export class Connections {
  /** The one that has been silent for the longest time comes first. */
  readonly #strangers = new Set<Socket>();
  readonly #holders = new Set<Socket>();
  readonly #limits: ConnectionLimits;
  #isTrimDue = false;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  add(socket: Socket): void {
    this.#strangers.add(socket);
    socket.once('close', () => {
      this.#strangers.delete(socket);
      this.#holders.delete(socket);
    });
    this.#trimSoon();
  }

  /** A request has come on this connection. */
  requested(socket: Socket, hasToken: boolean): void {
    if (!this.#strangers.delete(socket)) return;
    const isHolder = hasToken && this.#holders.size < this.#limits.holders;
    (isHolder ? this.#holders : this.#strangers).add(socket);
  }

  /** Later by one pass of the event loop, so that a request that has arrived with its connection is read before the connection is judged. */
  #trimSoon(): void {
    if (this.#isTrimDue || this.#strangers.size <= this.#limits.strangers) return;
    this.#isTrimDue = true;
    setImmediate(() =>
      setImmediate(() => {
        this.#isTrimDue = false;
        const excess = Math.max(0, this.#strangers.size - this.#limits.strangers);
        for (const socket of [...this.#strangers].slice(0, excess)) socket.destroy();
      }),
    );
  }
}

export interface ConnectionLimits {
  /** Connections that have not shown the token. */
  readonly strangers: number;
  /** Connections that have shown the token. Further ones have the room of strangers. */
  readonly holders: number;
}
