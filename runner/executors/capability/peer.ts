import type { RawData, WebSocket } from 'ws';
import type { Fields, JsonObject } from '../../../src/domain/json.js';
import { parseObject } from '../bounded-json.js';

/**
 * The daemon's end of one executor's connection. A request is open until its answer is written; while there are too many open
 * ones nothing more is read, so that neither a flood of requests nor a child that never reads its answers can fill our memory.
 * A few messages are taken per turn of the event loop, so that other work gets in between.
 */
const MAX_OPEN = 32;
const MAX_QUEUED = 64;
const MAX_QUEUED_BYTES = 1024 * 1024;
const MESSAGES_PER_TURN = 16;
const MAX_GARBAGE = 20;
const MAX_BUFFERED_FOR_PONG = 64 * 1024;
const POLICY_VIOLATION = 1008;
const NOTHING = Buffer.alloc(0);

export interface PeerListener {
  /** Never rejects. */
  onMessage(message: Fields): Promise<void>;
  /** Once: it has sent too much that is no JSON object, and is cut off. */
  onGarbage(): void;
}

export class Peer {
  /** Everything that it sent before its end has been given to the listener by then. */
  readonly closed: Promise<void>;
  readonly #queue: Buffer[] = [];
  #queuedBytes = 0;
  #open = 0;
  #garbage = 0;
  #isPumping = false;
  #hasClosed = false;
  #whenClosed = () => {};

  constructor(
    private readonly socket: WebSocket,
    private readonly listener: PeerListener,
  ) {
    this.closed = new Promise((resolve) => {
      this.#whenClosed = resolve;
    });
    socket.on('message', (data, isBinary) => this.#take(data, isBinary));
    socket.on('ping', (data) => {
      if (socket.bufferedAmount < MAX_BUFFERED_FOR_PONG) socket.pong(data);
    });
    // 'close' follows, and tells all there is to know.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#hasClosed = true;
      this.#pump();
    });
  }

  /** Settles once it is handed to the system, or can no longer be. */
  send(message: JsonObject): Promise<void> {
    return new Promise((resolve) => {
      this.socket.send(JSON.stringify(message), () => resolve());
    });
  }

  end(): void {
    this.socket.terminate();
  }

  #take(data: RawData, isBinary: boolean): void {
    if (this.#garbage > MAX_GARBAGE) return;
    const bytes = isBinary ? NOTHING : bytesOf(data);
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
      const next = this.#queue.shift() ?? NOTHING;
      this.#queuedBytes -= next.length;
      this.#handle(next);
    }
    if (this.#queue.length === 0 && this.socket.isPaused) this.socket.resume();
    if (this.#hasClosed && this.#queue.length === 0) this.#whenClosed();
  }

  #handle(bytes: Buffer): void {
    const message = parseObject(bytes);
    if (message === null) return this.#countGarbage();
    this.#open += 1;
    void this.listener.onMessage(message).finally(() => {
      this.#open -= 1;
      this.#pump();
    });
  }

  #countGarbage(): void {
    this.#garbage += 1;
    if (this.#garbage !== MAX_GARBAGE + 1) return;
    this.#queue.length = 0;
    this.#queuedBytes = 0;
    this.listener.onGarbage();
    this.socket.close(POLICY_VIOLATION, 'not JSON');
  }
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
