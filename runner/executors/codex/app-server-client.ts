import {
  CancellationReceiverStrategy,
  CancellationTokenSource,
  createMessageConnection,
  ErrorCodes,
  type MessageConnection,
  NullLogger,
  ResponseError,
} from 'vscode-jsonrpc/node';
import type { Clock } from '../../../src/domain/clock.js';
import { BatonError, toBatonError } from '../../../src/domain/errors.js';
import type { ContainedProcess, ExitStatus } from '../../contain/process.js';
import type { FairScheduler } from '../read-lines.js';
import type { RpcId } from './protocol.js';
import { type IncomingRequest, type LineEvents, NewlineReader, NewlineWriter, OpenIds } from './transport.js';

export interface ClientOptions {
  readonly process: ContainedProcess;
  readonly scheduler: FairScheduler;
  readonly clock: Clock;
  readonly readTimeoutMs: number;
  readonly handlers: ClientHandlers;
  /** The end of stderr, for the error message when the process ends. */
  stderrTail(): string;
}

interface ClientHandlers extends Omit<LineEvents, 'lineTooLong'> {
  /** Resolves to the reply. Returns `undefined` for an unknown method. */
  request(method: string, id: RpcId, params: unknown): Promise<unknown> | undefined;
}

/** How long to wait for output after the process has ended, and for the exit status after the output has ended. */
const DRAIN_MS = 1_000;

/**
 * JSON-RPC with one app-server process: vscode-jsonrpc matches requests and replies, notifications do not pass through it. The connection is open until the agent ends, closes a pipe or breaks the protocol, or until
 * `dispose`; then `closed` resolves, exactly once, to the reason. Every request has a time limit, and every pending request fails
 * when the connection closes: vscode-jsonrpc alone would wait for ever.
 */
export class AppServerClient {
  readonly closed: Promise<BatonError>;
  readonly #connection: MessageConnection;
  readonly #openIds = new OpenIds();
  #settleClosed: (error: BatonError) => void = () => {};
  #closing = false;
  #answered = false;

  constructor(private readonly options: ClientOptions) {
    this.closed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
    this.#connection = this.#connect();
    void options.process.exited.then(() => {
      if (this.isOpen) options.clock.after(DRAIN_MS, () => this.#close());
    });
  }

  get isOpen(): boolean {
    return !this.#closing;
  }

  async request(method: string, params: object): Promise<unknown> {
    const { clock, readTimeoutMs } = this.options;
    const cancel = new CancellationTokenSource();
    let stopTimer = () => {};
    const timedOut = new Promise<never>((_, reject) => {
      stopTimer = clock.after(readTimeoutMs, () => {
        cancel.cancel();
        reject(new BatonError('response_timeout', `the agent did not answer ${method} within ${readTimeoutMs} ms`));
      });
    });
    try {
      const reply = await Promise.race([this.#connection.sendRequest<unknown>(method, params, cancel.token), timedOut]);
      this.#answered = true;
      return reply;
    } catch (error) {
      throw await this.#explain(method, error);
    } finally {
      stopTimer();
      cancel.dispose();
    }
  }

  async notify(method: string): Promise<void> {
    try {
      await this.#connection.sendNotification(method);
    } catch (error) {
      throw await this.#explain(method, error);
    }
  }

  /** Stops listening and reports nothing more. The owner of the process stops it. */
  dispose(): void {
    this.#closeWith(new BatonError('port_exit', 'the connection to the agent was closed'));
  }

  #connect(): MessageConnection {
    const { process, scheduler, handlers } = this.options;
    if (!process.stdin) throw new BatonError('internal_error', 'the agent was started without a stdin');
    const reader = new NewlineReader(process.stdout, scheduler, this.#openIds, {
      output: handlers.output,
      notification: (method, params) => this.#guard(() => handlers.notification(method, params)),
      malformed: handlers.malformed,
      unexpectedId: handlers.unexpectedId,
      lineTooLong: () => this.#closeWith(new BatonError('line_too_long', 'the agent sent a line of over 10 MB')),
    });
    const writer = new NewlineWriter(process.stdin, this.#openIds);
    const connection = createMessageConnection(reader, writer, NullLogger, {
      cancellationStrategy: {
        receiver: CancellationReceiverStrategy.Message,
        // A request that timed out is only forgotten here: the protocol has no message to cancel it.
        sender: {
          enableCancellation: (request) => void (request.id !== null && this.#openIds.sent.add(request.id)),
          sendCancellation: async (_, id) => void this.#openIds.sent.delete(id),
          cleanup: (id) => void this.#openIds.sent.delete(id),
        },
      },
      messageStrategy: {
        handleMessage: (message, next) => {
          const result = next(message);
          reader.handled();
          return result;
        },
      },
    });
    connection.onRequest((method, incoming) => this.#reply(method, incoming as unknown as IncomingRequest));
    connection.onClose(() => this.#close());
    connection.onError(([error]) => (error instanceof BatonError ? this.#closeWith(error) : this.#close()));
    connection.listen();
    return connection;
  }

  async #reply(method: string, incoming: IncomingRequest): Promise<unknown> {
    const reply = this.#guard(() => this.options.handlers.request(method, incoming.id, incoming.params));
    if (!reply) return new ResponseError(ErrorCodes.MethodNotFound, `Baton does not answer ${method.slice(0, 100)}`);
    return reply;
  }

  // An error in our own handlers ends the run with its cause; vscode-jsonrpc would only log it.
  #guard<T>(handle: () => T): T | undefined {
    try {
      return handle();
    } catch (error) {
      this.#closeWith(toBatonError(error));
      return undefined;
    }
  }

  #close(): void {
    if (this.#closing) return;
    this.#closing = true;
    const { process, clock } = this.options;
    let cancel = () => {};
    const timeout = new Promise<null>((resolve) => {
      cancel = clock.after(DRAIN_MS, () => resolve(null));
    });
    void Promise.race([process.exited, timeout]).then((status) => {
      cancel();
      this.#finish(this.#errorOfExit(status));
    });
  }

  #closeWith(error: BatonError): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#finish(error);
  }

  #finish(error: BatonError): void {
    this.#settleClosed(error);
    this.#connection.dispose();
  }

  #errorOfExit(status: ExitStatus | null): BatonError {
    const stderr = this.options.stderrTail();
    const tail = stderr === '' ? '' : `; end of stderr: ${stderr}`;
    if (!status) return new BatonError('port_exit', `the agent closed its input or output${tail}`);
    if (!this.#answered && (status.code === 127 || status.code === 126)) {
      return new BatonError('codex_not_found', `the agent command could not be run (exit ${status.code})${tail}`);
    }
    const how =
      status.code === null ? `was ended by ${status.signal ?? 'a signal'}` : `exited with code ${status.code}`;
    return new BatonError('port_exit', `the agent process ${how}${tail}`);
  }

  async #explain(method: string, error: unknown): Promise<BatonError> {
    if (error instanceof BatonError) return error;
    if (error instanceof ResponseError && !this.#closing) {
      return new BatonError('response_error', `the agent refused ${method}: ${error.message.slice(0, 1_000)}`);
    }
    // The write failed or the connection is closed: report the reason for its end.
    this.#close();
    return this.closed;
  }
}
