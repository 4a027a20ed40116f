import type { RawData, WebSocket } from 'ws';
import type { Fields, JsonObject } from '../../../src/domain/json.js';
import { parseObject } from '../bounded-json.js';

const MAX_OPEN = 32;
const MAX_QUEUED = 64;
const MAX_QUEUED_BYTES = 1024 * 1024;
const MESSAGES_PER_TURN = 16;
const MAX_INVALID = 20;
const MAX_BUFFERED_FOR_PONG = 64 * 1024;
const POLICY_VIOLATION = 1008;
const EMPTY = Buffer.alloc(0);
const PING = Buffer.from('baton');

export interface PeerListener {
  /** Never rejects. */
  onMessage(message: Fields): Promise<void>;
  /** Called once, when the executor is disconnected because too many messages are not JSON objects. */
  onDisconnect(): void;
}

/**
 * The daemon's end of the connection of one executor. A request is open until its answer is written. While too many requests are open,
 * messages wait in a queue, and a full queue pauses the socket: neither a flood of requests nor an executor that never reads its
 * answers can fill our memory. A few messages are handled per iteration of the event loop, so that other work is not delayed.
 */
export class Peer {
  /** Resolves when the connection is closed and every message was given to the listener. */
  readonly closed: Promise<void>;
  readonly #queue: Buffer[] = [];
  #queuedBytes = 0;
  #open = 0;
  #invalid = 0;
  #isPumping = false;
  #isClosed = false;
  #resolveClosed = () => {};

  constructor(
    private readonly socket: WebSocket,
    private readonly listener: PeerListener,
  ) {
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    socket.on('message', (data, isBinary) => this.#take(data, isBinary));
    socket.on('ping', (data) => {
      if (socket.bufferedAmount < MAX_BUFFERED_FOR_PONG) socket.pong(data);
    });
    // 'close' follows.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#isClosed = true;
      this.#pump();
    });
  }

  /**
   * Resolves when the executor has answered a ping, and never when it does not. A message that arrives together with the answer to the
   * upgrade reaches a client before its program could attach a listener, and is lost. A pong shows that this moment is over.
   */
  untilReading(): Promise<void> {
    return new Promise((resolve) => {
      this.socket.on('pong', (data) => {
        if (data.equals(PING)) resolve();
      });
      // The callback receives the error of a connection that is already closed.
      this.socket.ping(PING, undefined, () => {});
    });
  }

  /** Resolves when the message was written, or cannot be written any more. */
  send(message: JsonObject): Promise<void> {
    return new Promise((resolve) => {
      this.socket.send(JSON.stringify(message), () => resolve());
    });
  }

  end(): void {
    this.socket.terminate();
  }

  #take(data: RawData, isBinary: boolean): void {
    if (this.#invalid > MAX_INVALID) return;
    const bytes = isBinary ? EMPTY : bytesOf(data);
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.length;
    if (this.#queue.length > MAX_QUEUED || this.#queuedBytes > MAX_QUEUED_BYTES) this.socket.pause();
    this.#pump();
  }

  #pump(): void {
    if (this.#isPumping) return;
    for (let taken = 0; this.#open < MAX_OPEN && this.#queue.length > 0; taken += 1) {
      if (taken === MESSAGES_PER_TURN) {
        this.#isPumping = true;
        setImmediate(() => {
          this.#isPumping = false;
          this.#pump();
        });
        return;
      }
      const next = this.#queue.shift() ?? EMPTY;
      this.#queuedBytes -= next.length;
      this.#handle(next);
    }
    if (this.#queue.length === 0 && this.socket.isPaused) this.socket.resume();
    if (this.#isClosed && this.#queue.length === 0) this.#resolveClosed();
  }

  #handle(bytes: Buffer): void {
    const message = parseObject(bytes);
    if (message === null) return this.#countInvalid();
    this.#open += 1;
    void this.listener.onMessage(message).finally(() => {
      this.#open -= 1;
      this.#pump();
    });
  }

  #countInvalid(): void {
    this.#invalid += 1;
    if (this.#invalid !== MAX_INVALID + 1) return;
    this.#queue.length = 0;
    this.#queuedBytes = 0;
    this.listener.onDisconnect();
    this.socket.close(POLICY_VIOLATION, 'not JSON');
  }
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
