import { realpathSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { type Fields, listOf, textOf } from '../domain/json.js';
import { DemoThread } from './demo-thread.js';
import { DemoTurn } from './demo-turn.js';
import { LinePeer, RefusedError, type RequestResult } from './line-peer.js';
import { threadReply } from './protocol-shapes.js';

/** Handles the requests of the app-server protocol that Baton sends. Others are refused, as codex does. */
export class DemoServer {
  readonly #peer: LinePeer;
  readonly #threads = new Map<string, DemoThread>();
  readonly #turns = new Map<string, DemoTurn>();
  #isInitialized = false;

  constructor(
    input: Readable,
    output: Writable,
    private readonly paceMs: () => number,
  ) {
    this.#peer = new LinePeer(input, output, (method, params) => this.#handle(method, params));
  }

  /** Ends every turn with its running command. */
  close(): void {
    for (const turn of this.#turns.values()) turn.interrupt();
  }

  #handle(method: string, params: Fields): RequestResult {
    if (method !== 'initialize' && !this.#isInitialized) throw new RefusedError('Not initialized');
    switch (method) {
      case 'initialize':
        return this.#initialize();
      case 'thread/start':
        return this.#start(params);
      case 'thread/resume':
        return this.#resume(params);
      case 'thread/name/set':
        return this.#name(params);
      case 'turn/start':
        return this.#startTurn(params);
      case 'turn/steer':
        return this.#steer(params);
      case 'turn/interrupt':
        this.#activeTurn(params, params.turnId).interrupt();
        return { result: {} };
      default:
        throw new RefusedError(`Invalid request: unknown method ${method.slice(0, 100)}`);
    }
  }

  #initialize(): RequestResult {
    if (this.#isInitialized) throw new RefusedError('Already initialized');
    this.#isInitialized = true;
    const platformFamily = process.platform === 'win32' ? 'windows' : 'unix';
    const platformOs = process.platform === 'darwin' ? 'macos' : process.platform;
    return { result: { userAgent: 'baton-demo-agent', codexHome: process.cwd(), platformFamily, platformOs } };
  }

  #start(params: Fields): RequestResult {
    const result = this.#open(DemoThread.start(folderOf(params), listOf(params.dynamicTools)), params);
    return { result, after: () => this.#peer.notify('thread/started', { thread: result.thread }) };
  }

  #resume(params: Fields): RequestResult {
    const id = textOf(params.threadId) ?? '';
    const thread = this.#threads.get(id) ?? DemoThread.resume(folderOf(params), id);
    if (!thread) throw new RefusedError(`no rollout found for thread id ${id.slice(0, 100)}`);
    const cursors = { turnsBackwardsCursor: null, itemsBackwardsCursor: null };
    return { result: { ...this.#open(thread, params), collaborationMode: null, ...cursors } };
  }

  #open(thread: DemoThread, params: Fields): ReturnType<typeof threadReply> {
    this.#threads.set(thread.id, thread);
    return threadReply(thread, params, Date.now());
  }

  #name(params: Fields): RequestResult {
    const thread = this.#thread(params);
    thread.name = textOf(params.name);
    const update = { threadId: thread.id, ...(thread.name === null ? {} : { threadName: thread.name }) };
    return { result: {}, after: () => this.#peer.notify('thread/name/updated', update) };
  }

  /** During an active turn the input steers that turn, as with codex. */
  #startTurn(params: Fields): RequestResult {
    const thread = this.#thread(params);
    const input = listOf(params.input);
    const active = this.#turns.get(thread.id);
    if (active) {
      active.steer(input);
      return { result: { turn: active.shape() } };
    }
    const turn = new DemoTurn(this.#peer, thread, input, this.paceMs);
    this.#turns.set(thread.id, turn);
    const run = () => void turn.run().finally(() => this.#turns.delete(thread.id));
    return { result: { turn: turn.shape() }, after: run };
  }

  #steer(params: Fields): RequestResult {
    const turn = this.#activeTurn(params, params.expectedTurnId);
    turn.steer(listOf(params.input));
    return { result: { turnId: turn.id } };
  }

  #thread({ threadId }: Fields): DemoThread {
    const thread = this.#threads.get(textOf(threadId) ?? '');
    if (!thread) throw new RefusedError(`thread not found: ${String(threadId).slice(0, 100)}`);
    return thread;
  }

  #activeTurn(params: Fields, expectedId: unknown): DemoTurn {
    const turn = this.#turns.get(this.#thread(params).id);
    if (!turn) throw new RefusedError('no active turn');
    if (turn.id !== expectedId) throw new RefusedError(`expected active turn id ${expectedId}, found ${turn.id}`);
    return turn;
  }
}

function folderOf({ cwd }: Fields): string {
  try {
    return realpathSync(textOf(cwd) ?? process.cwd());
  } catch {
    throw new RefusedError(`cwd does not exist: ${String(cwd).slice(0, 200)}`);
  }
}
