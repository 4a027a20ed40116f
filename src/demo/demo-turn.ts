import { randomUUID } from 'node:crypto';
import { type Fields, fieldsOf, listOf, textOf } from '../domain/json.js';
import { counted } from '../text/format-numbers.js';
import type { DemoThread, Step, Usage } from './demo-thread.js';
import type { LinePeer } from './line-peer.js';
import { commandItem, messageItem, type TurnStatus, turnError, turnShape, usageShape } from './protocol-shapes.js';
import { runChild } from './run-child.js';
import { fileChange, writeText } from './workspace-files.js';

/**
 * One turn. It runs until its steps are done, one of them fails, or it is interrupted; then it is reported as `completed`, `failed` or
 * `interrupted`. The last turn also moves the issue. An interrupt kills a running command.
 */
export class DemoTurn {
  readonly id = randomUUID();
  readonly #beganMs = Date.now();
  readonly #abort = new AbortController();
  readonly #reporter: TurnReporter;
  #steps: Step[] = [];

  constructor(
    private readonly peer: LinePeer,
    private readonly thread: DemoThread,
    private readonly input: readonly unknown[],
    paceMs: () => number,
  ) {
    this.#reporter = new TurnReporter(peer, thread, this.id, () => this.#unlessInterrupted(wait(paceMs())));
  }

  shape(status: TurnStatus = 'inProgress', message?: string): object {
    return turnShape(this.id, status, this.#beganMs, status === 'inProgress' ? null : Date.now(), message);
  }

  interrupt(): void {
    this.#abort.abort();
  }

  /** Adds the steps of a message to the end of this turn. */
  steer(input: readonly unknown[]): void {
    const before = this.#steps.length;
    this.#steps.push(...this.thread.addSteps(promptOf(input)));
    const added = this.#steps.length - before;
    this.thread.report.push(
      `got a message during the turn${added === 0 ? '' : `, with ${counted(added, 'more step')}`}`,
    );
  }

  /** Resolves when the turn has ended in any way. */
  async run(): Promise<void> {
    const { threadId, turn } = { threadId: this.thread.id, turn: this.shape() };
    this.peer.notify('turn/started', { threadId, turn });
    let [status, message]: [TurnStatus, string?] = ['completed'];
    try {
      await this.#work();
    } catch (error) {
      message = error instanceof Error ? error.message : String(error);
      [status, message] = this.#abort.signal.aborted ? ['interrupted'] : ['failed', message];
    }
    if (message !== undefined) this.#reporter.notify('error', { error: turnError(message), willRetry: false });
    this.peer.notify('turn/completed', { threadId, turn: this.shape(status, message) });
  }

  async #work(): Promise<void> {
    this.#steps = [...this.thread.beginTurn(promptOf(this.input))];
    this.#reporter.userMessage(this.input);
    await this.#reporter.think(`**Reading what to do**: ${counted(this.#steps.length, 'step')} in this turn`);
    for (let step = this.#steps.shift(); step !== undefined; step = this.#steps.shift()) {
      this.thread.stepDone(await this.#do(step));
      if (this.thread.takeFailure()) throw new Error('the demo agent fails once here, because the issue asks for it');
    }
    if (!this.thread.isLastTurn) {
      await this.#reporter.say('My steps of this turn are done. The others follow in the next turn.', 'final_answer');
      return;
    }
    await this.#moveIssue();
    await this.#reporter.say(`All done: ${this.thread.report.join('; ')}.`, 'final_answer');
  }

  /** Returns a line for the report. */
  async #do(step: Step): Promise<string> {
    return step.kind === 'write' ? this.#write(step.path, `${step.text}\n`) : this.#run(step.command);
  }

  async #write(path: string, text: string): Promise<string> {
    const { cwd } = this.thread;
    const change = fileChange(cwd, path, text);
    if (change === null) throw new Error(`${path} is not a path for a file in this workspace: nothing was written`);
    if (change.kind.type === 'update' && change.diff === '') return `\`${path}\` needed no change`;
    const shape = (status: string) => (id: string) => ({ type: 'fileChange', id, changes: [change], status });
    await this.#reporter.item(shape('inProgress'), async () => writeText(change.path, text), shape('completed'));
    return `wrote \`${path}\``;
  }

  async #run(command: string): Promise<string> {
    const { cwd } = this.thread;
    const options = { cwd, env: process.env, signal: this.#abort.signal };
    const { exitCode } = await this.#reporter.item(
      (id) => commandItem(id, command, cwd, null),
      () => runChild('bash', ['-c', command], options),
      (id, result) => commandItem(id, command, cwd, result),
    );
    if (exitCode !== 0) throw new Error(`\`${command}\` ended with exit code ${exitCode}`);
    return `ran \`${command}\``;
  }

  async #moveIssue(): Promise<void> {
    const tool = this.thread.tools.find(({ name }) => name === UPDATE_ISSUE);
    if (!tool) {
      await this.#reporter.say(`I have no tool ${UPDATE_ISSUE}: a person has to move the issue.`);
      return;
    }
    const comment = `The demo agent did this:\n\n${this.thread.report.map((line) => `- ${line}`).join('\n')}`;
    const call = { namespace: null, tool: UPDATE_ISSUE, arguments: finishing(tool, comment) };
    const open = { status: 'inProgress', contentItems: null, success: null, durationMs: null };
    const reply = await this.#reporter.item(
      (id) => ({ type: 'dynamicToolCall', id, ...call, ...open }),
      async (callId) => {
        const beganMs = Date.now();
        const params = { threadId: this.thread.id, turnId: this.id, callId, ...call };
        const { result } = await this.#unlessInterrupted(this.peer.request('item/tool/call', params));
        const { success, contentItems } = fieldsOf(result);
        return { success: success === true, contentItems: listOf(contentItems), durationMs: Date.now() - beganMs };
      },
      (id, done) => ({
        type: 'dynamicToolCall',
        id,
        ...call,
        ...done,
        status: done.success ? 'completed' : 'failed',
      }),
    );
    if (reply.success) return;
    const reason = reply.contentItems.map((item) => textOf(fieldsOf(item).text) ?? '').join(' ');
    throw new Error(`the issue could not be moved: ${reason || 'no reason was given'}`);
  }

  #unlessInterrupted<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#abort;
    return new Promise((resolve, reject) => {
      const stop = () => reject(new Error('interrupted'));
      if (signal.aborted) stop();
      signal.addEventListener('abort', stop, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
    });
  }
}

function promptOf(input: readonly unknown[]): string {
  return input.map((part) => textOf(fieldsOf(part).text) ?? '').join('\n');
}

/** The timer is referenced, so that the process stays alive during a turn. */
function wait(ms: number): Promise<void> {
  return ms <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms));
}

/** Sends the notifications of a turn: items, deltas and token counts, at a pace that people can follow. */
class TurnReporter {
  constructor(
    private readonly peer: LinePeer,
    private readonly thread: DemoThread,
    private readonly turnId: string,
    private readonly pace: () => Promise<void>,
  ) {}

  notify(method: string, params: object): void {
    this.peer.notify(method, { threadId: this.thread.id, turnId: this.turnId, ...params });
  }

  /** `begun` and `ended` build the item before and after the work, with the same id. */
  async item<T>(
    begun: (id: string) => object,
    work: (id: string) => Promise<T>,
    ended: (id: string, done: T) => object,
  ) {
    await this.pace();
    const id = `item_${randomUUID()}`;
    this.notify('item/started', { item: begun(id), startedAtMs: Date.now() });
    const done = await work(id);
    this.notify('item/completed', { item: ended(id, done), completedAtMs: Date.now() });
    this.#countTokens(JSON.stringify(done ?? '').length);
    return done;
  }

  userMessage(input: readonly unknown[]): void {
    const item = { type: 'userMessage', id: `item_${randomUUID()}`, clientId: null, content: input };
    this.notify('item/started', { item, startedAtMs: Date.now() });
    this.notify('item/completed', { item, completedAtMs: Date.now() });
  }

  async think(thought: string): Promise<void> {
    const shape = (summary: readonly string[]) => (id: string) => ({ type: 'reasoning', id, summary, content: [] });
    await this.item(shape([]), () => this.pace(), shape([thought]));
  }

  async say(text: string, phase: 'commentary' | 'final_answer' = 'commentary'): Promise<void> {
    const speak = async (itemId: string) => {
      for (const delta of text.match(/\S+\s*/g) ?? []) this.notify('item/agentMessage/delta', { itemId, delta });
      return text;
    };
    await this.item(
      (id) => messageItem(id, '', phase),
      speak,
      (id) => messageItem(id, text, phase),
    );
  }

  /** Invented token counts, like those of a model that reads the whole thread for every item, mostly from a cache. */
  #countTokens(writtenChars: number): void {
    const { usage } = this.thread;
    const last: Usage = {
      inputTokens: 2_400 + Math.round(usage.outputTokens * 1.2),
      cachedInputTokens: usage.inputTokens === 0 ? 0 : 2_048,
      outputTokens: 30 + Math.ceil(writtenChars / 4),
    };
    usage.inputTokens += last.inputTokens;
    usage.cachedInputTokens += last.cachedInputTokens;
    usage.outputTokens += last.outputTokens;
    this.thread.save();
    this.notify('thread/tokenUsage/updated', { tokenUsage: usageShape({ ...usage }, last) });
  }
}

/** The only tool of the client that the demo agent uses. */
const UPDATE_ISSUE = 'update_issue';

/** Names of states for finished work, the best name first. */
const FINISHED = ['done', 'resolved', 'closed'];

/** The arguments for finished work, as far as the tool accepts them. */
function finishing(tool: Fields, comment: string): { readonly state?: string; readonly comment?: string } {
  const { properties } = fieldsOf(tool.inputSchema);
  const takes = (name: string) => Object.hasOwn(fieldsOf(properties), name);
  return { ...(takes('state') ? { state: doneState(tool) } : {}), ...(takes('comment') ? { comment } : {}) };
}

/** The state for finished work, or else the last state that the tool names. */
function doneState(tool: Fields): string {
  const { state } = fieldsOf(fieldsOf(tool.inputSchema).properties);
  const description = textOf(fieldsOf(state).description) ?? textOf(tool.description) ?? '';
  const [, list = ''] = /(?:One of|States): (.+?)\.(?:\s|$)/.exec(description) ?? [];
  const states = list.split(', ').filter((name) => name !== '');
  const named = FINISHED.flatMap((finished) => states.filter((name) => name.toLowerCase() === finished));
  return named[0] ?? states.at(-1) ?? 'Done';
}
