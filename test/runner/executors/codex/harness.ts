import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { RunMailbox } from '../../../../runner/active-run.js';
import type { ContainedProcess } from '../../../../runner/contain/process.js';
import { type CodexExecutorDeps, createCodexExecutor } from '../../../../runner/executors/codex/codex-executor.js';
import type { Executor, StepContext } from '../../../../runner/executors/executor.js';
import type { Config } from '../../../../src/domain/config.js';
import { secretPrints } from '../../../../src/domain/find-secrets.js';
import type { Issue } from '../../../../src/domain/issue.js';
import type { Outcome } from '../../../../src/domain/outcome.js';
import type { StopReason } from '../../../../src/domain/run.js';
import type { Answer, RunSignal, RuntimeEvent, RuntimeEventType } from '../../../../src/domain/run-signal.js';
import type { RenderedAgentCli } from '../../../../src/domain/steps/plan.js';
import { config, type DeepPartial, issue, workflow } from '../../../support/builders.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { plainProcess } from '../../../support/plain-process.js';

/** Runs a step against a fake agent: a real process, a clock that stands still, and signals that can be waited for. */
export function agent(name: string, ...args: readonly string[]): string {
  const path = fileURLToPath(new URL(`../../../support/agents/${name}.mjs`, import.meta.url));
  return [process.execPath, path, ...args].map((part) => `'${part}'`).join(' ');
}

export interface RunOptions {
  readonly comments?: Issue['comments'];
  readonly command: string;
  readonly config?: DeepPartial<Config>;
  readonly step?: Partial<RenderedAgentCli> & { readonly resume?: StepContext['resume']; readonly index?: number };
  readonly tools?: StepContext['tools'];
  readonly deps?: Partial<CodexExecutorDeps>;
  readonly executor?: Executor<RenderedAgentCli>;
  readonly workspace?: string;
  /** The result of each refresh in turn; the last one is repeated. */
  readonly refreshes?: readonly (Issue | null | Error | Promise<Issue>)[];
  wrap?(process: ContainedProcess): ContainedProcess;
}

export interface TestRun {
  readonly done: Promise<Outcome>;
  readonly signals: readonly RunSignal[];
  readonly stderr: readonly string[];
  /** The prompts as the executor reported them with `promptSent`. */
  readonly prompts: readonly string[];
  readonly clock: FakeClock;
  readonly workspace: string;
  events(type?: RuntimeEventType): RuntimeEvent[];
  /** Waits for the end while the clock runs on, for limits that start at a moment a test cannot see. */
  doneAsTimePasses(): Promise<Outcome>;
  /** The agent's own process has ended. */
  exited(): Promise<unknown>;
  /** The messages that the agent received. */
  received(): Received[];
  next<T extends RunSignal['type']>(type: T, matches?: (signal: SignalOf<T>) => boolean): Promise<SignalOf<T>>;
  event(type: RuntimeEventType, method?: string): Promise<RuntimeEvent>;
  answer(questionId: string, answer: Answer): void;
  steer(text: string): void;
  /** Messages that the agent did not confirm, once the run is over. */
  unread(): string[];
  stop(reason: StopReason): void;
}

type SignalOf<T> = Extract<RunSignal, { type: T }>;
type Received = { readonly id?: number; readonly method?: string; readonly params?: never; readonly result?: unknown };

export function start(options: RunOptions): TestRun {
  const workspace = options.workspace ?? tempFolder();
  const clock = new FakeClock();
  const abort = new AbortController();
  const signals: RunSignal[] = [];
  const stderr: string[] = [];
  const prompts: string[] = [];
  const watchers = new Set<() => void>();
  const refreshes = [...(options.refreshes ?? [null])];
  let onExit: (status: unknown) => void = () => {};
  const exited = new Promise((resolve) => {
    onExit = resolve;
  });
  const mailbox = new RunMailbox();
  const executor = options.executor ?? createCodexExecutor({ version: '1.2.3', ...options.deps });

  const settings = config({ ...options.config, codex: { command: options.command, ...options.config?.codex } });
  const { resume = null, index = 0, ...step } = options.step ?? {};
  const notHere = () => {
    throw new Error('the codex executor has no use for this');
  };
  const done = executor.execute(
    {
      kind: 'agent',
      backend: 'cli',
      prompt: 'the whole prompt',
      maxTurns: settings.agent.maxTurns,
      session: null,
      ...step,
    },
    {
      runId: 'run-1',
      attempt: null,
      issue: issue({ identifier: 'AB-1', title: 'Make it so', comments: options.comments ?? [] }),
      workflow: workflow(),
      config: settings,
      step: { id: 'agent', index, timeoutMs: null, idempotencyKey: null },
      resume,
      audit: notHere,
      warn: notHere,
      environment: (extra) => ({ env: extra, unset: [] }),
      start: notHere,
      secret: notHere,
      knownSecrets: async () => secretPrints([], ''),
      resources: { get: notHere, atEnd: notHere },
      messages: notHere,
      workspace,
      tmpDir: join(workspace, 'tmp'),
      clock,
      tools: options.tools ?? [],
      signal: abort.signal,
      emit: (signal) => {
        signals.push(signal);
        for (const watcher of watchers) watcher();
      },
      launch: async (command) => {
        const launched = plainProcess(command, workspace);
        onTestFinished(async () => void (await launched.stop()));
        void launched.exited.then(onExit);
        return options.wrap?.(launched) ?? launched;
      },
      refreshIssue: async () => {
        const answer = refreshes.length > 1 ? refreshes.shift() : refreshes[0];
        if (answer instanceof Error) throw answer;
        return answer ?? null;
      },
      continuationPrompt: (current, turn) => `go on with ${current.identifier}, turn ${turn}`,
      promptSent: (text) => void prompts.push(text),
      agentStderr: (text) => void stderr.push(text),
      mailbox,
    },
  );

  const next: TestRun['next'] = (type, matches = () => true) =>
    new Promise((resolve) => {
      const look = () => {
        const found = signals.find(
          (signal): signal is SignalOf<typeof type> => signal.type === type && matches(signal as SignalOf<typeof type>),
        );
        if (!found) return;
        watchers.delete(look);
        resolve(found);
      };
      watchers.add(look);
      look();
    });

  return {
    done,
    signals,
    stderr,
    prompts,
    clock,
    workspace,
    exited: () => exited,
    doneAsTimePasses: () => {
      const tick = setInterval(() => clock.advance(1_000), 1);
      return done.finally(() => clearInterval(tick));
    },
    events: (type) =>
      signals.flatMap((signal) =>
        signal.type === 'event' && (!type || signal.event.type === type) ? [signal.event] : [],
      ),
    received: () =>
      readFileSync(join(workspace, 'received.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    next,
    event: async (type, method) =>
      (await next('event', ({ event }) => event.type === type && (!method || event.method === method))).event,
    answer: (questionId, answer) => mailbox.answer(questionId, answer),
    steer: (text) => mailbox.send(text),
    unread: () => mailbox.takeUnread(),
    stop: (reason) => abort.abort(reason),
  };
}

/** Runs to the end. */
export async function run(options: RunOptions): Promise<TestRun & { readonly outcome: Outcome }> {
  const started = start(options);
  return { ...started, outcome: await started.done };
}

export function tempFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'baton-codex-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function failureOf(outcome: Outcome): Extract<Outcome, { error: unknown }>['error'] {
  if (outcome.state === 'success') throw new Error('expected a failure');
  return outcome.error;
}

/** The last message of a fake agent repeats the answers that it got. */
export function lastMessage(outcome: Outcome): string {
  if (outcome.state !== 'success')
    throw new Error(`expected success, got ${outcome.error.code}: ${outcome.error.message}`);
  return (outcome.output as { last_message: string }).last_message;
}
