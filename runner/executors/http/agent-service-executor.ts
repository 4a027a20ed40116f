import { randomUUID } from 'node:crypto';
import { BatonError } from '../../../src/domain/errors.js';
import { assertNever, fieldsOf, type Json, type JsonObject, textOf } from '../../../src/domain/json.js';
import { type Outcome, success } from '../../../src/domain/outcome.js';
import type { RenderedAgentHttp } from '../../../src/domain/steps/plan.js';
import type { Executor, StepContext } from '../executor.js';
import { errorTextIn, shown } from './response-text.js';
import { isServiceId, ServiceClient, type ServiceResponse } from './service-client.js';
import { cleanUpInBackground, pause, stepOutcome } from './step-calls.js';

/** Polls of a run that may fail in a row. A restart of the service must not cost an agent its work. */
const MAX_FAILED_POLLS = 5;

/** `kind: agent` with `backend: http`: starts a run of an agent and waits for its end. */
export function createAgentServiceExecutor(): Executor<RenderedAgentHttp> {
  return { execute: (action, context) => stepOutcome(context, () => new AgentServiceRun(action, context).execute()) };
}

class AgentServiceRun {
  readonly #client: ServiceClient;

  constructor(
    private readonly action: RenderedAgentHttp,
    private readonly context: StepContext,
  ) {
    this.#client = new ServiceClient('agents', context);
  }

  async execute(): Promise<Outcome> {
    const { step, signal } = this.context;
    const url = this.#client.url('v1', 'agents', this.action.agent, 'run');
    const body = this.#request();
    const { prompt } = this.action.input;
    if (typeof prompt === 'string') this.context.promptSent(prompt);
    const started = await this.#client.request({
      method: 'POST',
      url,
      body,
      idempotencyKey: step.idempotencyKey,
      signal,
    });
    const view = viewOf(started);
    return this.#outcomeOf(view.kind === 'running' ? await this.#waitFor(view.runId, started, url) : view);
  }

  #request(): JsonObject {
    const { input, strategy, session } = this.action;
    return {
      input: session === null ? input : { ...input, session_id: this.#conversation(session) },
      tenant: this.#client.service.tenant,
      ...(strategy === null ? {} : { strategy }),
    };
  }

  /** Created on first use and kept for the run. */
  #conversation(session: string): string {
    return this.context.resources.get(`http/agent-session/${session}`, () => randomUUID());
  }

  async #waitFor(runId: string | null, { location }: ServiceResponse, from: URL): Promise<AgentRunEnd> {
    const url = this.#pollUrl(runId, location, from);
    try {
      return await this.#poll(url);
    } catch (error) {
      if (runId !== null && this.#mayCancel()) this.#cancel(runId);
      throw error;
    }
  }

  #pollUrl(runId: string | null, location: string | null, from: URL): URL {
    if (location !== null) return this.#client.location(location, from);
    if (runId !== null) return this.#client.url('v1', 'agents', this.action.agent, 'runs', runId);
    throw this.#client.fault('SERVICE_REJECTED', `POST ${from.pathname} answered with neither an output nor a run`);
  }

  async #poll(url: URL): Promise<AgentRunEnd> {
    const { signal } = this.context;
    let failedPolls = 0;
    for (;;) {
      await pause(this.context, this.#client.service.pollIntervalMs);
      try {
        const view = viewOf(await this.#client.request({ method: 'GET', url, signal }));
        if (view.kind !== 'running') return view;
        failedPolls = 0;
      } catch (error) {
        failedPolls += 1;
        const isPassing = error instanceof BatonError && error.code === 'SERVICE_UNAVAILABLE';
        if (!isPassing || failedPolls >= MAX_FAILED_POLLS) throw error;
      }
    }
  }

  /**
   * A run that no step waits for is cancelled, so that it does not go on beside the run of a retry. With an idempotency key the retry
   * finds this very run again, which must not be cancelled then.
   */
  #mayCancel(): boolean {
    const { signal, step } = this.context;
    const mayComeBack = !signal.aborted || signal.reason === 'step_timeout';
    return step.idempotencyKey === null || !mayComeBack;
  }

  #cancel(runId: string): void {
    const url = this.#client.url('v1', 'agents', this.action.agent, 'runs', runId, 'cancel');
    const cancel = (signal: AbortSignal) => this.#client.notify({ method: 'POST', url, body: {}, signal });
    void cleanUpInBackground(this.context, 'a run of an agent could not be cancelled', cancel);
  }

  #outcomeOf(view: AgentRunEnd): Outcome {
    const { agent } = this.action;
    switch (view.kind) {
      case 'ended':
        return success(view.output);
      case 'failed': {
        const reason = view.message === null ? '' : `: ${shown(view.message, this.#client.mask)}`;
        throw this.#client.fault('SERVICE_REJECTED', `ran agent ${agent}, which ended as ${view.state}${reason}`);
      }
      case 'unusable':
        throw this.#client.fault('SERVICE_REJECTED', `answered about agent ${agent} without an output or a state`);
      default:
        return assertNever(view);
    }
  }
}

/** The state of an agent's run in a response. */
type AgentRunView =
  | { readonly kind: 'ended'; readonly output: JsonObject }
  | { readonly kind: 'failed'; readonly state: string; readonly message: string | null }
  | { readonly kind: 'running'; readonly runId: string | null }
  | { readonly kind: 'unusable' };

type AgentRunEnd = Exclude<AgentRunView, { readonly kind: 'running' }>;

const GOOD_ENDS = new Set(['completed', 'succeeded', 'success', 'done']);
const BAD_ENDS = new Set(['failed', 'error', 'cancelled', 'canceled', 'timeout', 'expired']);
const BAD_REASONS = new Set(['error', 'failed']);
const NO_END = new Set(['accepted', 'created', 'queued', 'pending', 'scheduled', 'starting', 'running', 'in_progress']);

/** The state that the service names counts first. Without a state, an output is the end, and a run without output goes on. */
function viewOf({ status, body }: ServiceResponse): AgentRunView {
  const fields = fieldsOf(body);
  const written = textOf(fields.status) ?? textOf(fields.state);
  const state = written?.toLowerCase() ?? null;
  const reason = textOf(fields.stop_reason);
  const hasOutput = Object.hasOwn(fields, 'output');
  const failed = (why: string): AgentRunView => ({ kind: 'failed', state: why, message: errorTextIn(body) });

  if (state !== null && BAD_ENDS.has(state)) return failed(state);
  if (reason !== null && BAD_REASONS.has(reason.toLowerCase())) return failed(reason);
  if (state !== null && GOOD_ENDS.has(state)) return hasOutput ? ended(fields, reason) : { kind: 'unusable' };

  const runId = runIdOf(fields.run_id) ?? runIdOf(fields.id);
  const saysRunning = status === 202 || (state !== null && NO_END.has(state));
  // A run with an unknown state and no output has not ended.
  const showsNothing = !hasOutput || (state !== null && fields.output === null);
  if (!saysRunning && !showsNothing) return ended(fields, reason);
  return saysRunning || state !== null || runId !== null ? { kind: 'running', runId } : { kind: 'unusable' };
}

function ended(fields: { readonly [key: string]: unknown }, reason: string | null): AgentRunView {
  const steps = Array.isArray(fields.steps) ? { steps: fields.steps as Json } : {};
  return { kind: 'ended', output: { output: fields.output as Json, stop_reason: reason, ...steps } };
}

function runIdOf(value: unknown): string | null {
  const text = Number.isSafeInteger(value) ? String(value) : value;
  return isServiceId(text) ? text : null;
}
