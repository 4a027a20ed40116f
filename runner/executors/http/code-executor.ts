import { type Fields, fieldsOf } from '../../../src/domain/fields.js';
import type { JsonObject } from '../../../src/domain/json.js';
import { type Outcome, success } from '../../../src/domain/outcome.js';
import type { CodeAction } from '../../../src/domain/steps/plan.js';
import type { Executor, StepContext } from '../executor.js';
import { type Mask, shown, shownTail } from './error-text.js';
import { withSession } from './sandbox-sessions.js';
import { ServiceClient } from './service-client.js';
import { stepOutcome } from './answers.js';

const STDERR_IN_MESSAGE = 1_500;
const TEXT_IN_AUDIT = 16_000;

/** `kind: code`: a session of the language, then the code in it. Code that fails is a failed step and is not tried again. */
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
  const said = shownTail(stderr, client.mask, STDERR_IN_MESSAGE);
  throw client.fault('CODE_FAILED', `ran the code, which ${failure}${said === '' ? '' : `: ${said}`}`);
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
  const answer = await client.ask({ method: 'POST', url, body, idempotencyKey, signal });
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

/** What the sandbox says about code that it ran. */
interface ExecResult {
  /** `null` only for code that was killed. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly isStdoutCut: boolean;
  readonly isStderrCut: boolean;
  readonly durationMs: number | null;
  readonly oom: boolean;
  readonly killedReason: string | null;
}

/** `null`: that is no such thing. What may be left out by the protocol may be left out; nothing may be of another type. */
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
