import { realpath } from 'node:fs/promises';
import { BatonError } from '../../../src/domain/errors.js';
import { fieldsOf, textOf } from '../../../src/domain/json.js';
import type { StepContext } from '../executor.js';
import { readAgentProgram, worktreeRepository } from './agent-program.js';
import type { AppServerClient } from './app-server-client.js';
import { closedPaths } from './closed-paths.js';
import { CALLS, INITIALIZED } from './protocol.js';
import type { Reporter } from './reporter.js';
import { ensureSocketFolder } from './socket-folder.js';
import {
  checkThread,
  NO_SETTINGS,
  type OwnSettings,
  readOwnSettings,
  threadParams,
  unknownServers,
  usesProfile,
} from './thread-config.js';
import { repositorySkills, skillLinks } from './workspace-skills.js';

// From a started process to an open thread: initialize → initialized → config/read → skills/list → thread/start or thread/resume → thread/name/set.

/** Length of the agent's name and model. They are kept only for people. */
const MAX_NAME = 200;

export interface AgentFacts {
  /** Name and version, as the agent reports them; `null`: it does not. */
  readonly version: string | null;
  /** False for another agent that speaks the protocol. */
  readonly isCodex: boolean;
}

export async function initialize(client: AppServerClient, version: string): Promise<AgentFacts> {
  const reply = await client.request(CALLS.initialize, {
    clientInfo: { name: 'baton', title: 'Baton', version },
    capabilities: { experimentalApi: true, requestAttestation: false },
  });
  await client.notify(INITIALIZED);
  const { userAgent, codexHome } = fieldsOf(reply);
  return { version: textOf(userAgent)?.slice(0, MAX_NAME) ?? null, isCodex: textOf(codexHome) !== null };
}

export interface OpenedThread {
  readonly threadId: string;
  readonly resumed: boolean;
  readonly model: string | null;
}

/** `pid` is the agent's process. */
export async function openThread(
  client: AppServerClient,
  agent: AgentFacts & { readonly pid: number },
  context: StepContext,
  reporter: Reporter,
): Promise<OpenedThread> {
  const settings = await threadSettings(client, agent, context, reporter);
  const resumed = context.resume ? await resumeThread(client, context.resume.threadId, settings, reporter) : null;
  const reply = fieldsOf(resumed ?? (await client.request(CALLS.threadStart, newThread(settings, context))));
  const threadId = textOf(fieldsOf(reply.thread).id);
  if (threadId === null) throw new BatonError('response_error', 'the agent opened a thread without an id');
  await assertCwd(textOf(reply.cwd), context.workspace);
  if (!checkThread(reply, context.config.codex)) {
    reporter.warning('the agent reports no sandbox: only its containment keeps it from your files', {
      agent: agent.version,
    });
  }
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

/** What is sent with a new and with a resumed thread. */
async function threadSettings(
  client: AppServerClient,
  { pid, isCodex }: AgentFacts & { readonly pid: number },
  { config, workspace, tmpDir, environment }: StepContext,
  reporter: Reporter,
): Promise<object> {
  const program = await readAgentProgram(pid, environment({}).env);
  const repository = await worktreeRepository(workspace);
  if (isCodex) await ensureSocketFolder();
  const linked = isCodex ? await skillLinks(workspace) : [];
  const closed = usesProfile(config.codex) ? await closedPaths(program.env) : [];
  const own = isCodex ? await ownSettings(client) : NO_SETTINGS;
  const skills = isCodex ? await workspaceSkills(client, workspace) : [];
  const { codex, runtime } = config;
  const missing = unknownServers(codex, own);
  if (missing.length > 0) reporter.warning('codex.mcp_servers names servers that Codex does not have', { missing });
  return threadParams({
    ...{ codex, envAllow: runtime.envAllow, workspace, tmpDir, program, repository, own },
    ...{ skills, linked, closed },
  });
}

/** Without a folder, so that settings in the workspace or above it do not count. */
async function ownSettings(client: AppServerClient): Promise<OwnSettings> {
  const reply = await client.request(CALLS.configRead, {}).catch(nullIfRefused);
  return reply === null ? NO_SETTINGS : readOwnSettings(reply);
}

async function workspaceSkills(client: AppServerClient, workspace: string): Promise<readonly string[]> {
  const request = { cwds: [workspace], forceReload: true };
  const reply = await client.request(CALLS.skillsList, request).catch(nullIfRefused);
  return reply === null ? [] : repositorySkills(reply, workspace);
}

/** Faulty settings fail `thread/start` as well, with their own message. An old Codex without the request has no skills. */
function nullIfRefused(error: unknown): null {
  if (error instanceof BatonError && error.code === 'response_error') return null;
  throw error;
}

function newThread(settings: object, context: StepContext): object {
  const dynamicTools = context.tools.map(({ name, description, inputSchema }) => ({
    type: 'function',
    name,
    description,
    inputSchema,
  }));
  return { ...settings, ...(dynamicTools.length > 0 ? { dynamicTools } : {}) };
}

/** Returns `null` when the agent refuses; a new thread is started then. Any other error fails the run. Tools, name and history are part of the thread. */
async function resumeThread(
  client: AppServerClient,
  threadId: string,
  settings: object,
  reporter: Reporter,
): Promise<unknown> {
  try {
    // Exclude the old turns: a long history would be one very long line.
    return await client.request(CALLS.threadResume, { threadId, excludeTurns: true, ...settings });
  } catch (error) {
    if (!(error instanceof BatonError) || error.code !== 'response_error') throw error;
    reporter.warning('the thread could not be resumed; a new one starts with the whole prompt', {
      threadId,
      message: error.message,
    });
    return null;
  }
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
