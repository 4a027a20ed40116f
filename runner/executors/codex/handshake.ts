import { realpath } from 'node:fs/promises';
import { BatonError } from '../../../src/domain/errors.js';
import type { Json } from '../../../src/domain/json.js';
import { fieldsOf, textOf } from '../../../src/domain/json.js';
import type { StepContext } from '../executor.js';
import type { AppServerClient } from './app-server-client.js';
import { CALLS, INITIALIZED } from './protocol.js';
import type { Reporter } from './reporter.js';

/** From a started process to a thread: initialize → initialized → thread/start or thread/resume → thread/name/set. */
/** Answers what the agent calls itself, name and version; `null`: it does not say. */
export async function initialize(client: AppServerClient, version: string): Promise<string | null> {
  const reply = await client.request(CALLS.initialize, {
    clientInfo: { name: 'baton', title: 'Baton', version },
    capabilities: { experimentalApi: true, requestAttestation: false },
  });
  await client.notify(INITIALIZED);
  return textOf(fieldsOf(reply).userAgent)?.slice(0, MAX_NAME) ?? null;
}

/** An agent says what it likes; it is only kept for people. */
const MAX_NAME = 200;

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

/** The agent must be about to start where the workspace really is. */
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

/** `null`: the agent refused. Its tools, name and history come back with the thread; only a dead agent fails the run here. */
async function resumeThread(
  client: AppServerClient,
  threadId: string,
  context: StepContext,
  reporter: Reporter,
): Promise<unknown> {
  try {
    // Without the old turns: a long history would be one very long line.
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
  return { cwd: workspace, ...given('approvalPolicy', approvalPolicy), ...given('sandbox', threadSandbox) };
}

function given(key: string, value: Json): object {
  return value === null ? {} : { [key]: value };
}

/** For people who look at the thread elsewhere; a failure is worth a line, not a run. */
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
