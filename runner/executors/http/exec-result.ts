import type { Fields } from '../../../src/domain/fields.js';
import type { JsonObject } from '../../../src/domain/json.js';

/** What the sandbox says about code that it ran. */
export interface ExecResult {
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
export function readExecResult(body: Fields): ExecResult | null {
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

export function outputOf(result: ExecResult): JsonObject {
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
