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
import { type AgentLine, isDelta, parseMessage, type RpcId } from './protocol.js';

export interface LineEvents {
  /** Some bytes have arrived, whatever they are. */
  output(): void;
  notification(method: string, params: unknown): void;
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
 * Reads one JSON object per line. Notifications go to `events`; replies to open requests and requests with a new id go to vscode-jsonrpc.
 * Messages are handled in the order in which they were sent: the next line waits until the connection has dispatched the last message
 * (`handled`), and, except after a delta, for a turn of the scheduler. So code that awaits a message goes on before the next message is
 * handled, and the messages of a fast agent neither fill a queue nor delay other agents. After `dispose` the stream is drained and dropped.
 */
export class NewlineReader extends AbstractMessageReader implements MessageReader {
  readonly #splitter = new LineSplitter();
  #callback: DataCallback = () => {};
  /** Settles when the lines of the last chunk are handled. */
  #work: Promise<void> = Promise.resolve();
  #dispatched: () => void = () => {};
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
        this.#work = this.#handleLines(this.#splitter.push(chunk));
        return this.#work;
      },
      onEnd: () => void this.#finish(),
    });
    return { dispose: () => this.dispose() };
  }

  /** To be called when the connection has dispatched the last message. */
  handled(): void {
    this.#dispatched();
  }

  /** The stream is still read, and dropped: an agent that blocks on a full pipe could not end. */
  override dispose(): void {
    super.dispose();
    this.#disposed = true;
    this.#dispatched();
  }

  async #finish(): Promise<void> {
    // The stream may be destroyed while its last lines are still being handled.
    await this.#work;
    const last = this.#disposed ? null : this.#splitter.end();
    if (last) await this.#handleLines([last]);
    if (!this.#disposed) this.fireClose();
  }

  async #handleLines(lines: readonly Buffer[]): Promise<void> {
    let isAfterMessage = false;
    for (const line of lines) {
      if (isAfterMessage) await this.scheduler.turn();
      if (this.#disposed) return;
      const parsed = parseMessage(line);
      isAfterMessage = parsed.kind !== 'blank' && !(parsed.kind === 'notification' && isDelta(parsed.method));
      if (parsed.kind === 'notification') this.#notify(parsed.method, parsed.params);
      else if (parsed.kind !== 'blank') await this.#dispatch(this.#admit(parsed));
    }
    if (this.#splitter.overflowed && !this.#disposed) this.events.lineTooLong();
  }

  #notify(method: string, params: unknown): void {
    // `$/…` would control the connection itself (cancel, trace); it is not part of this protocol.
    if (method.startsWith('$/')) this.events.malformed(`unexpected method ${method.slice(0, 50)}`, '');
    else this.events.notification(method, params);
  }

  async #dispatch(message: RpcMessage | null): Promise<void> {
    if (!message) return;
    const dispatched = new Promise<void>((resolve) => {
      this.#dispatched = resolve;
    });
    this.#callback(message);
    await dispatched;
  }

  #admit(line: Exclude<AgentLine, { kind: 'blank' | 'notification' }>): RpcMessage | null {
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
