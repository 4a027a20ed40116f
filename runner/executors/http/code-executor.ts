import { BatonError } from '../../../src/domain/errors.js';
import { type Fields, fieldsOf, type JsonObject } from '../../../src/domain/json.js';
import { type Outcome, success } from '../../../src/domain/outcome.js';
import type { CodeAction } from '../../../src/domain/steps/plan.js';
import type { Executor, StepContext } from '../executor.js';
import { type Mask, shown, shownTail } from './response-text.js';
import { isServiceId, ServiceClient } from './service-client.js';
import { cleanUp, cleanUpInBackground, SharedCalls, stepOutcome, untilAborted } from './step-calls.js';

const STDERR_IN_MESSAGE = 1_500;
const TEXT_IN_AUDIT = 16_000;

/** `kind: code`: creates a session of the language and runs the code in it. A step whose code fails is not retried. */
export function createCodeExecutor(): Executor<CodeAction> {
  return { execute: (action, context) => stepOutcome(context, () => run(action, context)) };
}

async function run(action: CodeAction, context: StepContext): Promise<Outcome> {
  const client = new ServiceClient('sandbox', context);
  const result = await withSession(action.language, client, context, (id) => exec(id, action, client, context));
  const failure = failureIn(result, client.mask);
  if (failure === null) return success(outputOf(result));
  const { stdout, stderr, killedReason } = result;
  const bounded = {
    ...result,
    stdout: tail(stdout),
    stderr: tail(stderr),
    killedReason: killedReason && tail(killedReason),
  };
  context.audit('code_failed', outputOf(bounded));
  const reason = shownTail(stderr, client.mask, STDERR_IN_MESSAGE);
  throw client.fault('CODE_FAILED', `ran the code, which ${failure}${reason === '' ? '' : `: ${reason}`}`);
}

async function exec(
  session: string,
  action: CodeAction,
  client: ServiceClient,
  { step, signal }: StepContext,
): Promise<ExecResult> {
  const { timeoutMs, idempotencyKey } = step;
  const url = client.url('v1', 'sandbox', 'sessions', session, 'exec');
  const body = requestOf(action, timeoutMs);
  const answer = await client.request({ method: 'POST', url, body, idempotencyKey, signal });
  const result = readExecResult(fieldsOf(answer.body));
  if (result === null) {
    throw client.fault(
      'SERVICE_REJECTED',
      `POST ${url.pathname} answered with something that is no result of an execution`,
    );
  }
  return result;
}

function requestOf({ source, stdin, env, cwd }: CodeAction, timeoutMs: number | null): JsonObject {
  return {
    code: source,
    ...(stdin === null ? {} : { stdin: typeof stdin === 'string' ? stdin : JSON.stringify(stdin) }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ...(cwd === null ? {} : { cwd }),
    ...(timeoutMs === null ? {} : { timeout_ms: timeoutMs }),
    async: false,
  };
}

function failureIn({ exitCode, oom, killedReason }: ExecResult, mask: Mask): string | null {
  if (oom) return 'ran out of memory';
  if (killedReason !== null) return `was killed (${shown(killedReason, mask, 100)})`;
  return exitCode === 0 ? null : `exited with ${exitCode}`;
}

function tail(text: string): string {
  return text.length <= TEXT_IN_AUDIT ? text : `…${text.slice(-TEXT_IN_AUDIT)}`;
}

/** The result of code that the sandbox ran. */
interface ExecResult {
  /** Null only for code that was killed. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly isStdoutCut: boolean;
  readonly isStderrCut: boolean;
  readonly durationMs: number | null;
  readonly oom: boolean;
  readonly killedReason: string | null;
}

/** Returns null when the body is no result. Optional members may be missing; none may have another type. */
function readExecResult(body: Fields): ExecResult | null {
  const stdout = body.stdout ?? '';
  const stderr = body.stderr ?? '';
  const exitCode = body.exit_code ?? null;
  const durationMs = body.duration_ms ?? null;
  const oom = body.oom ?? false;
  const killedReason = body.killed_reason ?? '';
  if (typeof stdout !== 'string' || typeof stderr !== 'string' || typeof killedReason !== 'string') return null;
  if (typeof oom !== 'boolean' || !(durationMs === null || typeof durationMs === 'number')) return null;
  const isKilled = oom || killedReason !== '';
  if (!(Number.isInteger(exitCode) || (exitCode === null && isKilled))) return null;
  return {
    exitCode: exitCode as number | null,
    stdout,
    stderr,
    isStdoutCut: body.stdout_truncated === true,
    isStderrCut: body.stderr_truncated === true,
    durationMs,
    oom,
    killedReason: killedReason === '' ? null : killedReason,
  };
}

function outputOf(result: ExecResult): JsonObject {
  return {
    exit_code: result.exitCode,
    stdout: result.stdout,
    stderr: result.stderr,
    duration_ms: result.durationMs,
    oom: result.oom,
    killed_reason: result.killedReason,
    ...(result.isStdoutCut ? { stdout_truncated: true } : {}),
    ...(result.isStderrCut ? { stderr_truncated: true } : {}),
  };
}

/**
 * With `session: run` the first step that needs a language creates its session. All steps of the run use it, also in parallel, and it is
 * deleted when the run ends. With `session: step` every try of a step has a session, deleted after it. When the sandbox no longer knows a
 * shared session, the step fails and the next one creates a new session.
 */
function withSession<T>(
  language: string,
  client: ServiceClient,
  context: StepContext,
  use: (id: string) => Promise<T>,
): Promise<T> {
  return client.service.session === 'run'
    ? withSharedSession(language, client, context, use)
    : withOwnSession(language, client, context, use);
}

interface RunSessions {
  readonly calls: SharedCalls<string>;
  /** To be deleted at the end of the run. */
  readonly open: Set<string>;
}

async function withSharedSession<T>(
  language: string,
  client: ServiceClient,
  context: StepContext,
  use: (id: string) => Promise<T>,
): Promise<T> {
  const { calls, open } = context.resources.get('http/sandbox-sessions', () => runSessions(client, context));
  const id = await calls.get(language, context.signal, async (signal) => {
    const made = await create(language, client, signal);
    open.add(made);
    return made;
  });
  try {
    return await use(id);
  } catch (error) {
    // A parallel step may have noticed first and created a new session, which stays.
    if (isGone(error) && open.delete(id)) calls.forget(language);
    throw error;
  }
}

function runSessions(client: ServiceClient, context: StepContext): RunSessions {
  const open = new Set<string>();
  context.resources.atEnd(async () => {
    await Promise.all(
      [...open].map((id) => cleanUp(context, COULD_NOT_DELETE, (signal) => remove(id, client, signal))),
    );
  });
  return { calls: new SharedCalls(), open };
}

async function withOwnSession<T>(
  language: string,
  client: ServiceClient,
  context: StepContext,
  use: (id: string) => Promise<T>,
): Promise<T> {
  const id = await create(language, client, context.signal);
  try {
    return await use(id);
  } finally {
    const removed = cleanUpInBackground(context, COULD_NOT_DELETE, (signal) => remove(id, client, signal));
    // A step that is stopped ends at once. Its outcome stays what it was before.
    await untilAborted(removed, context.signal).catch(() => {});
  }
}

async function create(language: string, client: ServiceClient, signal: AbortSignal): Promise<string> {
  const url = client.url('v1', 'sandbox', 'sessions');
  const { body } = await client.request({ method: 'POST', url, body: { language }, signal });
  const { id } = fieldsOf(body);
  if (isServiceId(id)) return id;
  throw client.fault('SERVICE_REJECTED', `POST ${url.pathname} answered without a usable id of the session`);
}

const COULD_NOT_DELETE = 'a session of the sandbox could not be deleted';

async function remove(id: string, client: ServiceClient, signal: AbortSignal): Promise<void> {
  const url = client.url('v1', 'sandbox', 'sessions', id);
  await client.notify({ method: 'DELETE', url, signal }).catch((error) => {
    if (!isGone(error)) throw error;
  });
}

function isGone(error: unknown): boolean {
  return error instanceof BatonError && (error.details.status === 404 || error.details.status === 410);
}
