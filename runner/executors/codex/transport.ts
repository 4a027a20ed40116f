import type { Readable, Writable } from 'node:stream';
import {
  AbstractMessageReader,
  AbstractMessageWriter,
  type DataCallback,
  type Disposable,
  type Message,
  type MessageReader,
  type MessageWriter,
} from 'vscode-jsonrpc/node';
import { BatonError } from '../../../src/domain/errors.js';
import { type FairScheduler, LineSplitter, readFairly } from '../read-lines.js';
import { type AgentLine, parseMessage, type RpcId } from './protocol.js';

export interface LineEvents {
  /** Some bytes have arrived, whatever they are. */
  output(): void;
  malformed(reason: string, sample: string): void;
  /** A reply to no open request, a request whose id is still open, or a request beyond `MAX_OPEN_REQUESTS`. */
  unexpectedId(kind: 'reply' | 'request', id: RpcId): void;
  lineTooLong(): void;
}

const MAX_OPEN_REQUESTS = 256;
/** More than any prompt. Without it, replies to an agent that never reads them would fill our memory. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

/** The ids of requests without a reply so far, in both directions. */
export class OpenIds {
  readonly sent = new Set<RpcId>();
  readonly received = new Set<RpcId>();
}

/** The parameter of a request handler. It contains the id, which vscode-jsonrpc does not pass on. */
export interface IncomingRequest {
  readonly id: RpcId;
  readonly params: unknown;
}

/**
 * Reads one JSON object per line for vscode-jsonrpc. It hands over one message, and the next one when the connection has dispatched
 * it (`handled`), so that a fast agent cannot fill the queue of the connection. Only replies to open requests and requests with a
 * new id are handed over. After `dispose` the stream is drained and dropped.
 */
export class NewlineReader extends AbstractMessageReader implements MessageReader {
  readonly #splitter = new LineSplitter();
  #callback: DataCallback = () => {};
  #lines: Buffer[] = [];
  #next = 0;
  #drained: (() => void) | null = null;
  #disposed = false;

  constructor(
    private readonly stream: Readable,
    private readonly scheduler: FairScheduler,
    private readonly openIds: OpenIds,
    private readonly events: LineEvents,
  ) {
    super();
  }

  listen(callback: DataCallback): Disposable {
    this.#callback = callback;
    readFairly(this.stream, this.scheduler, {
      onChunk: (chunk) => {
        if (this.#disposed) return undefined;
        this.events.output();
        return this.#take(this.#splitter.push(chunk));
      },
      onEnd: () => void this.#finish(),
    });
    return { dispose: () => this.dispose() };
  }

  /** To be called when the connection has dispatched the last message. */
  handled(): void {
    this.#advance();
  }

  /** The stream is still read, and dropped: an agent that blocks on a full pipe could not end. */
  override dispose(): void {
    super.dispose();
    this.#disposed = true;
    this.#lines = [];
    this.#settle();
  }

  async #finish(): Promise<void> {
    const busy = this.#drained;
    if (busy) {
      // The stream was destroyed while its last lines are still being handled: finish after them.
      this.#drained = () => {
        busy();
        void this.#finish();
      };
      return;
    }
    const last = this.#disposed ? null : this.#splitter.end();
    if (last) await this.#take([last]);
    if (!this.#disposed) this.fireClose();
  }

  #take(lines: Buffer[]): Promise<void> {
    return new Promise((resolve) => {
      this.#drained = resolve;
      this.#lines = lines;
      this.#next = 0;
      this.#advance();
    });
  }

  #advance(): void {
    while (!this.#disposed) {
      const line = this.#lines[this.#next++];
      if (!line) {
        if (this.#splitter.overflowed) this.events.lineTooLong();
        this.#settle();
        return;
      }
      const parsed = parseMessage(line);
      if (parsed.kind === 'blank') continue;
      const message = this.#admit(parsed);
      if (message) this.#callback(message);
      else setImmediate(() => this.#advance());
      return;
    }
  }

  #settle(): void {
    const drained = this.#drained;
    this.#drained = null;
    this.#lines = [];
    drained?.();
  }

  #admit(line: Exclude<AgentLine, { kind: 'blank' }>): RpcMessage | null {
    switch (line.kind) {
      case 'malformed':
        this.events.malformed(line.reason, line.sample);
        return null;
      case 'reply':
        if (this.openIds.sent.delete(line.id)) return { jsonrpc: '2.0', id: line.id, ...line.body };
        this.events.unexpectedId('reply', line.id);
        return null;
      case 'request': {
        if (this.openIds.received.has(line.id) || this.openIds.received.size >= MAX_OPEN_REQUESTS) {
          this.events.unexpectedId('request', line.id);
          return null;
        }
        this.openIds.received.add(line.id);
        const params: IncomingRequest = { id: line.id, params: line.params };
        return { jsonrpc: '2.0', id: line.id, method: line.method, params };
      }
      case 'notification':
        // `$/…` would control the connection itself (cancel, trace); it is not part of this protocol.
        if (line.method.startsWith('$/')) {
          this.events.malformed(`unexpected method ${line.method.slice(0, 50)}`, '');
          return null;
        }
        return { jsonrpc: '2.0', method: line.method, params: line.params };
    }
  }
}

type RpcMessage = Message & { readonly [member: string]: unknown };

export class NewlineWriter extends AbstractMessageWriter implements MessageWriter {
  constructor(
    private readonly stdin: Writable,
    private readonly openIds: OpenIds,
  ) {
    super();
    stdin.on('error', (error) => this.fireError(error));
  }

  async write(message: Message): Promise<void> {
    const { jsonrpc: _, ...wire } = message as RpcMessage;
    const isReply = !('method' in wire);
    if (isReply) this.openIds.received.delete(wire.id as RpcId);
    if (this.stdin.writableLength > MAX_UNREAD_BYTES) {
      this.fireError(new BatonError('port_exit', 'the agent does not read its input'));
      return;
    }
    const line = `${JSON.stringify(wire)}\n`;
    await new Promise<void>((resolve, reject) => {
      this.stdin.write(line, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** The stop ladder closes stdin. */
  end(): void {}
}
