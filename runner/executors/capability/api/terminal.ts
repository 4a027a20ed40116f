import { constants } from 'node:os';
import type { JsonObject } from '../../../../src/domain/json.js';
import { captureOutput } from '../../../contain/capture-output.js';
import type { ContainedProcess, ExitStatus } from '../../../contain/process.js';
import { type ApiAction, type ApiModule, type ApiSession, badRequest } from './api.js';

const MAX_OUTPUT_BYTES = 512 * 1024;
const DRAIN_MS = 1_000;
const MAX_COMMANDS = 8;
const MAX_AUDITED_CHARACTERS = 500;
const STOP = { eofMs: 0, termMs: 3_000, killMs: 2_000 } as const;

/** Runs a command to its end. The end of the execution stops a command that never ends. */
const runCommand: ApiAction = async ({ fields, text }, session) => {
  const command = text ?? fields.command;
  if (typeof command !== 'string' || command.trim() === '') throw badRequest('command is missing');
  const { commands, context } = session;
  if (commands.size >= MAX_COMMANDS) throw badRequest(`more than ${MAX_COMMANDS} commands at a time`);
  const starting = context.launch(command);
  commands.add(starting);
  try {
    const end = await untilEnd(await starting, command, session);
    const isQuiet = fields.returnEmptyStringOnSuccess === true && end.exitCode === 0;
    return isQuiet ? { ...end, stdout: '' } : end;
  } finally {
    commands.delete(starting);
  }
};

async function untilEnd(process: ContainedProcess, command: string, session: ApiSession): Promise<JsonObject> {
  const { context, signal, executionId } = session;
  const stop = () => void process.stop(STOP); // Never rejects; awaited below.
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    process.stdin?.end();
    for (const stream of [process.stdout, process.stderr]) {
      stream.on('data', () => context.emit({ type: 'progress', openItems: 0 }));
    }
    const options = { maxBytes: MAX_OUTPUT_BYTES, clock: context.clock, drainMs: DRAIN_MS };
    const { stdout, stderr, truncated, status } = await captureOutput(process, options);
    const exitCode = codeOf(status);
    const text = command.slice(0, MAX_AUDITED_CHARACTERS);
    const mark = text === command ? {} : { truncated: true };
    context.audit('capability_command', { execution_id: executionId, command: text, exit_code: exitCode, ...mark });
    return { exitCode, stdout, stderr, truncated };
  } finally {
    signal.removeEventListener('abort', stop);
    const stopped = await process.stop(STOP);
    if (!stopped.gone) await stopped.whenGone;
  }
}

/** The exit code as a shell reports it. */
function codeOf({ code, signal }: ExitStatus): number {
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

const interrupt: ApiAction = async (_, { commands }) => {
  const running = [...commands];
  await Promise.all(running.map((starting) => starting.then((process) => process.stop(STOP), IGNORE_ERROR)));
  return { interrupted: running.length };
};

/** The request that started the command reports the error. */
const IGNORE_ERROR = () => {};

export const TERMINAL_API: ApiModule = {
  module: 'terminal',
  types: ['terminalEvent'],
  actions: { executeCommand: runCommand, executeCommandRunUntilError: runCommand, sendManualInterrupt: interrupt },
  aliases: { sendInterruptToTerminal: 'sendManualInterrupt' },
  takes: { executeCommand: ['command', 'returnEmptyStringOnSuccess'], executeCommandRunUntilError: ['command'] },
  answers: {
    executeCommand: 'commandFinish',
    executeCommandRunUntilError: 'commandError',
    sendManualInterrupt: 'terminalInterrupted',
  },
};
