import { existsSync, realpathSync } from 'node:fs';
import type { CodexConfig } from '../../../src/domain/config.js';
import { BatonError } from '../../../src/domain/errors.js';
import { type Fields, fieldsOf, type Json, type JsonObject, textOf } from '../../../src/domain/json.js';
import { AGENT_LOGINS } from '../../environment.js';
import type { AgentProgram } from './agent-program.js';
import { PROFILE, permissionProfile } from './permission-profile.js';

// What `thread/start` and `thread/resume` ask for, and whether the reply grants it.

export interface ThreadFacts {
  readonly codex: CodexConfig;
  /** `runtime.env_allow` */
  readonly envAllow: readonly string[];
  readonly workspace: string;
  readonly tmpDir: string;
  readonly program: AgentProgram;
  /** The repository of a workspace that is a git worktree. */
  readonly repository: string | null;
  /** The user's own settings of Codex (`config/read`); empty for another agent. */
  readonly own: OwnSettings;
  /** Files of skills in the workspace. */
  readonly skills: readonly string[];
  /** Places in the workspace that links to skills lead to. */
  readonly linked: readonly string[];
  /** What of the base system not everyone may read, and logins inside of toolchains. */
  readonly closed: readonly string[];
}

/** The settings of the user's `config.toml` that matter here. */
export interface OwnSettings {
  readonly mcpServers: readonly string[];
  /** Variables that hold keys of model providers. */
  readonly keyVariables: readonly string[];
}

export const NO_SETTINGS: OwnSettings = { mcpServers: [], keyVariables: [] };

export function readOwnSettings(reply: unknown): OwnSettings {
  const config = fieldsOf(fieldsOf(reply).config);
  const providers = Object.values(fieldsOf(config.model_providers)).map(fieldsOf);
  return {
    mcpServers: Object.keys(fieldsOf(config.mcp_servers)),
    keyVariables: providers.flatMap((provider) => textOf(provider.env_key) ?? []),
  };
}

/** False when the workflow names a sandbox itself: Codex takes either a profile or a sandbox, and the setting of the workflow takes precedence. */
export function usesProfile({ threadSandbox, turnSandboxPolicy }: CodexConfig): boolean {
  return threadSandbox === null && turnSandboxPolicy === null;
}

export function threadParams(facts: ThreadFacts): object {
  const { codex, workspace } = facts;
  const isProfile = usesProfile(codex);
  return {
    cwd: workspace,
    approvalPolicy: codex.approvalPolicy,
    // Not another model: only a person may approve, and only through Baton.
    approvalsReviewer: 'user',
    ...(isProfile ? { permissions: PROFILE } : { sandbox: codex.threadSandbox ?? 'workspace-write' }),
    config: {
      ...overrides(facts),
      ...(isProfile ? { default_permissions: PROFILE, permissions: { [PROFILE]: profileOf(facts) } } : {}),
    },
  };
}

function profileOf({ program, repository, workspace, tmpDir, codex, linked, closed }: ThreadFacts): JsonObject {
  const readable = [...codex.readable, ...(repository === null ? [] : [repository])];
  return permissionProfile({ ...program, workspace, tmpDir, readable, linked, closed, exists: existsSync, realPath });
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

/** Settings of Codex for this thread only. They win over those of the user, and nothing is written to the user's files. */
function overrides({ codex, envAllow, workspace, program, own, skills }: ThreadFacts): JsonObject {
  const off = own.mcpServers.filter((name) => !codex.mcpServers.includes(name));
  return {
    // The agent writes the workspace, so its `.codex/config.toml` must not count. Without an entry, Codex trusts the folder for ever.
    projects: { [workspace]: { trust_level: 'untrusted' } },
    // Without this, the folders above the workspace are searched for settings, too.
    project_root_markers: [],
    ...(codex.webSearch ? {} : { web_search: 'disabled' }),
    features: Object.fromEntries(FEATURES_OFF.map((name) => [name, false])),
    // Codex has no switch for all skills of a repository. Even of an untrusted one it loads them.
    ...(skills.length === 0 ? {} : { skills: { config: skills.map((path) => ({ path, enabled: false })) } }),
    // A login shell would read the user's profile, with its secrets, and reset PATH. Codex itself was started by one.
    allow_login_shell: false,
    shell_environment_policy: { exclude: excludedVariables(program, envAllow, own, usesProfile(codex)) },
    // Only servers that exist may be named.
    ...(off.length === 0 ? {} : { mcp_servers: Object.fromEntries(off.map((name) => [name, { enabled: false }])) }),
  };
}

/** A version of Codex that does not know one of them ignores it. */
const FEATURES_OFF = [
  // Goals go on by themselves. Memories carry the text of one issue into another.
  ...['goals', 'memories'],
  // These bring tools that run outside the sandbox. A skill of the repository can ask for an MCP server.
  ...[
    'apps',
    'plugins',
    'tool_suggest',
    'skill_mcp_dependency_install',
    'browser_use',
    'computer_use',
    'in_app_browser',
  ],
  // The input of these sub-agents names images, which Codex reads outside of its sandbox. Sub-agents of newer models take text only, and stay.
  'multi_agent',
  // Writes outside of the workspace, and costs money that is not in the token counts.
  'image_generation',
  // A snapshot of the user's shell contains what the user's profile exports.
  'shell_snapshot',
];

/**
 * Variables that commands do not get: logins of agents, and everything that looks like a secret and is not named in `runtime.env_allow`. A
 * proxy with a password is of use to commands with a network only, and the profile gives them none.
 */
function excludedVariables(
  { env }: AgentProgram,
  envAllow: readonly string[],
  { keyVariables }: OwnSettings,
  isProfile: boolean,
): string[] {
  const isSecret = (name: string) => SECRET_NAME.test(name) || (isProfile && URL_WITH_PASSWORD.test(env[name] ?? ''));
  const secrets = Object.keys(env).filter((name) => isSecret(name) && !envAllow.includes(name));
  return [...new Set([...AGENT_LOGINS, ...keyVariables, ...secrets])];
}

const SECRET_NAME = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL/i;
const URL_WITH_PASSWORD = /:\/\/[^\s/@]*:[^\s/@]+@/;

/**
 * Throws when the reply to `thread/start` or `thread/resume` grants more than was asked for. Settings of the user and of an
 * administrator may change what Codex does; less than was asked for is fine. Returns false when the agent reports no sandbox at
 * all: it is not Codex.
 */
export function checkThread(reply: Fields, codex: CodexConfig): boolean {
  const sandbox = fieldsOf(reply.sandbox);
  const type = textOf(sandbox.type);
  if (type === null) return false;
  if (usesProfile(codex)) checkProfile(reply, sandbox);
  else checkSandbox(codex.threadSandbox ?? 'workspace-write', type);
  checkApproval(codex.approvalPolicy, reply.approvalPolicy, reply.approvalsReviewer);
  return true;
}

function checkProfile(reply: Fields, sandbox: Fields): void {
  if (reply.activePermissionProfile === undefined) {
    throw new BatonError(
      'agent_profile_unsupported',
      'this Codex does not know permission profiles, so it cannot keep the agent from reading your files: update it (0.138 or later), or set codex.thread_sandbox: workspace-write to let the agent read everything that your account can read',
    );
  }
  const active = textOf(fieldsOf(reply.activePermissionProfile).id);
  const asked = `the permission profile ${PROFILE} without network access`;
  if (active !== PROFILE) throw mismatch(asked, `the profile ${active ?? 'of a sandbox setting'}`);
  if (sandbox.networkAccess !== false || looseness(textOf(sandbox.type)) > looseness('workspaceWrite')) {
    throw mismatch(asked, JSON.stringify(sandbox).slice(0, 500));
  }
}

function checkSandbox(asked: Json, type: string): void {
  if (typeof asked !== 'string' || looseness(type) <= looseness(asked)) return;
  throw mismatch(`the sandbox ${asked}`, type);
}

/** `workspace-write` in requests, `workspaceWrite` in replies. A name that is not known counts as the loosest. */
function looseness(type: string | null): number {
  const name = (type ?? '').replace(/[-_\s]/g, '').toLowerCase();
  return ['readonly', 'workspacewrite'].indexOf(name) < 0 ? 2 : ['readonly', 'workspacewrite'].indexOf(name);
}

/** From the policy that asks least to the one that asks most. */
const POLICIES = ['never', 'on-failure', 'on-request', 'untrusted'];

function checkApproval(asked: Json, granted: unknown, reviewer: unknown): void {
  const [most, least] = [granted, asked].map((policy) => POLICIES.indexOf(String(policy)));
  if (most !== undefined && least !== undefined && most >= 0 && least >= 0 && most < least) {
    throw mismatch(`the approval policy ${String(asked)}`, String(granted));
  }
  if (typeof reviewer === 'string' && reviewer !== 'user' && granted !== 'never') {
    throw mismatch('approvals by a person', `approvals by ${reviewer.slice(0, 100)}`);
  }
}

function mismatch(asked: string, granted: string): BatonError {
  return new BatonError(
    'agent_sandbox_mismatch',
    `Baton asked Codex for ${asked}, and Codex reports ${granted}: look for settings of an administrator (requirements.toml) and for arguments in codex.command`,
  );
}

/** Names of MCP servers in `codex.mcp_servers` that the user's settings do not have. */
export function unknownServers(codex: CodexConfig, own: OwnSettings): readonly string[] {
  return codex.mcpServers.filter((name) => !own.mcpServers.includes(name));
}

/**
 * What a turn may write. Null: as the thread, because a policy would discard the thread's profile. A policy set by the user is passed on
 * unchanged. The default for `workspace-write` names the folders by path: the login shell may change the TMPDIR variable, and the
 * system's temp folder is shared with others. For any other `thread_sandbox` no policy is sent: it would undo the user's choice.
 */
export function sandboxPolicyOf(codex: CodexConfig, workspace: string, tmpDir: string): Json {
  if (usesProfile(codex)) return null;
  if (codex.turnSandboxPolicy !== null) return codex.turnSandboxPolicy;
  if (codex.threadSandbox !== 'workspace-write') return null;
  return {
    type: 'workspaceWrite',
    writableRoots: [workspace, tmpDir],
    networkAccess: false,
    excludeTmpdirEnvVar: true,
    excludeSlashTmp: true,
  };
}
