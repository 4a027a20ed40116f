import { realpath } from 'node:fs/promises';
import { BatonError } from '../../../src/domain/errors.js';
import { fieldsOf, type Json, textOf } from '../../../src/domain/json.js';
import type { StepContext } from '../executor.js';
import type { AppServerClient } from './app-server-client.js';
import { CALLS, INITIALIZED } from './protocol.js';
import type { Reporter } from './reporter.js';

// From a started process to an open thread: initialize → initialized → thread/start or thread/resume → thread/name/set.

/** Length of the agent's name and model. They are kept only for people. */
const MAX_NAME = 200;

/** Resolves to the name and version that the agent reports, or `null`. */
export async function initialize(client: AppServerClient, version: string): Promise<string | null> {
  const reply = await client.request(CALLS.initialize, {
    clientInfo: { name: 'baton', title: 'Baton', version },
    capabilities: { experimentalApi: true, requestAttestation: false },
  });
  await client.notify(INITIALIZED);
  return textOf(fieldsOf(reply).userAgent)?.slice(0, MAX_NAME) ?? null;
}

export interface OpenedThread {
  readonly threadId: string;
  readonly resumed: boolean;
  readonly model: string | null;
}

export async function openThread(
  client: AppServerClient,
  context: StepContext,
  reporter: Reporter,
): Promise<OpenedThread> {
  const resumed = context.resume ? await resumeThread(client, context.resume.threadId, context, reporter) : null;
  const reply = fieldsOf(resumed ?? (await client.request(CALLS.threadStart, newThread(context))));
  const threadId = textOf(fieldsOf(reply.thread).id);
  if (threadId === null) throw new BatonError('response_error', 'the agent opened a thread without an id');
  await assertCwd(textOf(reply.cwd), context.workspace);
  void nameThread(client, threadId, context, reporter);
  return { threadId, resumed: resumed !== null, model: textOf(reply.model)?.slice(0, MAX_NAME) ?? null };
}

/** Throws unless the workspace is a real path, without links. */
export async function assertWorkspace(workspace: string): Promise<void> {
  await assertCwd(workspace, workspace);
}

async function assertCwd(cwd: string | null, workspace: string): Promise<void> {
  if (cwd === null) return;
  const real = await realpath(cwd).catch((cause) => {
    throw new BatonError('invalid_workspace_cwd', `the agent's folder ${cwd} cannot be found`, {}, { cause });
  });
  if (real === workspace) return;
  throw new BatonError(
    'invalid_workspace_cwd',
    `the agent would work in ${real} instead of its workspace ${workspace}`,
  );
}

function newThread(context: StepContext): object {
  const dynamicTools = context.tools.map(({ name, description, inputSchema }) => ({
    type: 'function',
    name,
    description,
    inputSchema,
  }));
  return { ...threadSettings(context), ...(dynamicTools.length > 0 ? { dynamicTools } : {}) };
}

/** Returns `null` when the agent refuses; a new thread is started then. Any other error fails the run. Tools, name and history are part of the thread. */
async function resumeThread(
  client: AppServerClient,
  threadId: string,
  context: StepContext,
  reporter: Reporter,
): Promise<unknown> {
  try {
    // Exclude the old turns: a long history would be one very long line.
    return await client.request(CALLS.threadResume, { threadId, excludeTurns: true, ...threadSettings(context) });
  } catch (error) {
    if (!(error instanceof BatonError) || error.code !== 'response_error') throw error;
    reporter.warning('the thread could not be resumed; a new one starts with the whole prompt', {
      threadId,
      message: error.message,
    });
    return null;
  }
}

function threadSettings({ workspace, config }: StepContext): object {
  const { approvalPolicy, threadSandbox } = config.codex;
  return { cwd: workspace, ...unlessNull('approvalPolicy', approvalPolicy), ...unlessNull('sandbox', threadSandbox) };
}

function unlessNull(key: string, value: Json): object {
  return value === null ? {} : { [key]: value };
}

/** Names the thread for users of another client. A failure is only a warning. */
async function nameThread(
  client: AppServerClient,
  threadId: string,
  { issue }: StepContext,
  reporter: Reporter,
): Promise<void> {
  const name = `${issue.identifier}: ${issue.title}`;
  await client.request(CALLS.threadName, { threadId, name }).catch((error: Error) => {
    reporter.warning('the thread could not be named', { message: error.message });
  });
}
