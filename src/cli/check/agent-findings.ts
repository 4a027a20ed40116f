import { constants } from 'node:fs';
import { access, readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { agentEnvironment, type Environment } from '../../../runner/environment.js';
import { isInside } from '../../../runner/workspace/workspace-path.js';
import { checkWorkspaceRoot, existingPart, freeDiskMb } from '../../../runner/workspace/workspace-root.js';
import { isolationFault, secretsInEnvironment } from '../../daemon/isolation.js';
import { ERRORS } from '../../domain/error-table.js';
import { toBatonError } from '../../domain/errors.js';
import type { Json } from '../../domain/json.js';
import { allSteps, type Plan } from '../../domain/steps/plan.js';
import { type LoginShell, readLoginShell, runShell } from '../shell.js';
import { type CheckContext, type Finding, firstWord, positionIn, reporter, type ShellWord } from './finding.js';
import { trustOf } from './posture.js';
import {
  codexVersionFindings,
  INSTALL_CODEX,
  readableFindings,
  socketFolderFindings,
  unrestrictedReading,
} from './sandbox-findings.js';

const VERSION_LIMIT_MS = 5_000;

interface AgentReport {
  readonly findings: Finding[];
  /** The shell that starts the agent; null when it gave no result. */
  readonly shell: LoginShell | null;
}

/** Resolves the agent command as the daemon does, in the same environment and login shell. No findings if no step uses it. */
export async function agentFindings(context: CheckContext): Promise<AgentReport> {
  const { file, at, lines, loaded, containment } = context;
  if (!usesAgentCommand(loaded.workflow.plan)) return { findings: [], shell: null };
  const { command } = loaded.workflow.config.codex;
  const report = reporter('Agent', file);
  const position = positionIn(lines, at(['codex', 'command']), command);
  const word = firstWord(command);
  const environment = sampleAgentEnvironment(context);
  const cwd = loaded.workflow.dir;
  const shell = await readLoginShell({ word: word?.raw ?? null, ...environment, cwd }, containment);
  if (typeof shell === 'string') {
    const advice = 'Agents and hooks are started by `bash -lc`: try `bash -lc true`, and look into your profile files.';
    return { findings: [report('error', 'shell_failed', position(1), shell, advice)], shell: null };
  }
  const where = position(1, (word?.offset ?? 0) + 1);
  if (word === null) {
    const message = 'codex.command begins with an expression, so the program was not looked up';
    return { findings: [report('note', 'agent_not_checked', where, message)], shell };
  }
  if (!shell.found)
    return { findings: [report('error', 'codex_not_found', where, ...(await missing(word, shell, context)))], shell };
  if (!shell.found.startsWith('/')) {
    const isRelative = shell.found.includes('/');
    const what = isRelative ? 'a path relative to the workspace' : 'a word of the shell';
    const message = `codex.command begins with ${shell.found}, ${what}, so the program was not looked up`;
    return { findings: [report('note', 'agent_not_checked', where, message)], shell };
  }
  // A bare name is an installed program. A path may lead to a file of the repository, which must not be started here.
  const version = word.raw === 'codex' ? await versionOf(environment, context) : null;
  if (version === undefined) {
    const message = `${shell.found} was found, but \`codex --version\` fails or takes over ${VERSION_LIMIT_MS / 1000} s`;
    return {
      findings: [report('warning', 'agent_no_version', where, message, `Reinstall it: ${INSTALL_CODEX}`)],
      shell,
    };
  }
  const message = `the agent is ${shell.found}${version === null ? '' : ` (${version})`}`;
  const sandbox = [
    ...codexVersionFindings(context, version),
    ...(version === null ? [] : await socketFolderFindings(context)),
    ...(await readableFindings(context, { ...environment.env, PATH: shell.searchPath }, shell.found)),
  ];
  return { findings: [report('note', 'agent_found', where, message), ...sandbox], shell };
}

function usesAgentCommand({ steps }: Plan): boolean {
  for (const step of allSteps(steps))
    if (step.shape === 'action' && step.action.kind === 'agent' && step.action.backend === 'cli') return true;
  return false;
}

export function sampleAgentEnvironment({ io, loaded }: CheckContext): Environment {
  const { workflow } = loaded;
  return agentEnvironment(workflow, io.env, {
    TMPDIR: tmpdir(),
    BATON_RUN_ID: 'check',
    BATON_WORKSPACE: workflow.dir,
  });
}

/** Message and advice for a missing program. Reports when the user's shell finds it and the login shell does not. */
async function missing(
  { raw }: ShellWord,
  { searchPath }: LoginShell,
  { io }: CheckContext,
): Promise<[string, string]> {
  const name = raw.replace(/["'\\]/g, '');
  if (name.includes('/')) {
    return [`${name} does not exist or cannot be executed`, 'Correct the path in codex.command.'];
  }
  const own = await findOn(io.env.PATH ?? '', name);
  if (own !== null) {
    const message = `the agent command ${name} is not found: your shell has it (${own}), but agents are started by a login shell, whose PATH is ${searchPath}`;
    return [message, `Add its folder to PATH in ~/.profile, or write the full path in codex.command: ${own}`];
  }
  const advice = name === 'codex' ? `Install it: ${INSTALL_CODEX}` : 'Install it, or correct codex.command.';
  return [`the agent command ${name} is not found; PATH of the login shell: ${searchPath}`, advice];
}

async function findOn(searchPath: string, name: string): Promise<string | null> {
  for (const folder of searchPath.split(delimiter).filter((part) => part.startsWith('/'))) {
    const candidate = join(folder, name);
    const isThere = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return candidate;
  }
  return null;
}

/** Returns undefined when the program fails or prints no version. */
async function versionOf(
  { env, unset }: Environment,
  { loaded, containment }: CheckContext,
): Promise<string | undefined> {
  const bash = { login: 'codex --version </dev/null', unset };
  const result = await runShell({ bash, env, cwd: loaded.workflow.dir, timeoutMs: VERSION_LIMIT_MS }, containment);
  if (result.ended !== 'exited' || result.code !== 0) return undefined;
  return result.stdout.trim().split('\n').at(-1)?.slice(0, 100) || undefined;
}

const PROFILES = ['.bash_profile', '.bash_login', '.profile', '.bashrc'];

/** Finds secrets of the tracker in shell profiles. Baton's login shell unsets them, but a shell that an agent starts does not. */
export async function profileFindings({ io, loaded }: CheckContext): Promise<Finding[]> {
  const { secretNames } = loaded.workflow;
  if (secretNames.length === 0) return [];
  const found = await Promise.all(
    PROFILES.map(async (name) => {
      const text = await readFile(join(io.homeDir, name), 'utf8').catch(() => '');
      const report = reporter('Isolation', `~/${name}`);
      return text.split('\n').flatMap((line, index) => {
        const variable = secretNames.find((secret) => assigns(line, secret));
        if (variable === undefined) return [];
        const column = line.length - line.trimStart().length + 1;
        const message = `${variable}, a secret of the tracker, is set in a shell profile, so an agent that starts a login shell gets it`;
        const advice = 'Move it to a file that only the daemon reads, such as the EnvironmentFile of its service.';
        return [report('warning', 'secret_in_profile', { line: index + 1, column }, message, advice)];
      });
    }),
  );
  return found.flat();
}

function assigns(line: string, name: string): boolean {
  return new RegExp(`^\\s*(?:(?:export|declare|typeset|readonly)\\s+(?:-\\w+\\s+)*)?${name}=`).test(line);
}

/** Valid settings that carry a risk. */
export function riskFindings(context: CheckContext): Finding[] {
  const { file, at, loaded } = context;
  const report = reporter('Workflow', file);
  const { tracker, codex, runtime, agent } = loaded.workflow.config;
  const findings: Finding[] = [];
  const warn = (code: string, path: string[], message: string, advice: string) =>
    findings.push(report('warning', code, at(path), message, advice));

  if (tracker.requiredLabels.length === 0) {
    const strangers = trustOf(tracker) === 'anyone' ? ', also those of strangers' : '';
    const message = `no tracker.required_labels: every issue in an active state starts${strangers}`;
    warn(
      'no_label_gate',
      ['tracker', 'required_labels'],
      message,
      'Name a label that people put on the issues for Baton.',
    );
  } else if (tracker.requiredLabels.some((label) => label === '')) {
    const message = 'tracker.required_labels contains a blank label, which no issue has, so no run ever starts';
    warn('blank_label', ['tracker', 'required_labels'], message, 'Write the label, or remove the blank one.');
  }
  const sandbox = 'Use workspace-write, and move work that needs more access into hooks.';
  if (isFullAccess(codex.threadSandbox)) {
    const message =
      'codex.thread_sandbox is danger-full-access: the agent can do everything that you can do, and issues can instruct it';
    warn('full_access', ['codex', 'thread_sandbox'], message, sandbox);
  }
  if (!isFullAccess(codex.threadSandbox) && !isFullAccess(codex.turnSandboxPolicy)) {
    findings.push(...unrestrictedReading(context));
  }
  if (isFullAccess(codex.turnSandboxPolicy)) {
    const message =
      'codex.turn_sandbox_policy gives full access: the agent can do everything that you can do, and issues can instruct it';
    warn('full_access', ['codex', 'turn_sandbox_policy'], message, sandbox);
  }
  if (codex.onApprovalRequest === 'accept') {
    const message = 'codex.on_approval_request is accept: every request of the agent to leave its sandbox is approved';
    warn('accepts_all', ['codex', 'on_approval_request'], message, 'Use decline, or ask to have a person answer.');
  }
  if (runtime.env === 'inherit') {
    const message =
      'runtime.env is inherit: agents and hooks get every variable of the daemon except the secrets of the tracker';
    warn('env_inherit', ['runtime', 'env'], message, 'Use allowlist, and add further variables to runtime.env_allow.');
  }
  if (agent.maxTokensPerIssue === null && agent.maxTokensPerDay === null) {
    const message = 'there is no token budget, so the costs of an agent have no limit';
    warn(
      'no_budget',
      ['agent', 'max_tokens_per_issue'],
      message,
      'Set agent.max_tokens_per_issue or max_tokens_per_day.',
    );
  }
  return findings;
}

/** Accepts both forms: `danger-full-access` and `{ type: dangerFullAccess }`. */
function isFullAccess(setting: Json): boolean {
  const isMap = typeof setting === 'object' && setting !== null && !Array.isArray(setting);
  const word = isMap ? (setting as { readonly [key: string]: Json }).type : setting;
  return typeof word === 'string' && word.replace(/[-_\s]/g, '').toLowerCase() === 'dangerfullaccess';
}

/** How runs are isolated on this machine. */
export async function isolationFindings({ file, at, containment, loaded, io }: CheckContext): Promise<Finding[]> {
  const report = reporter('Isolation', file);
  const where = at(['runtime', 'isolation']);
  const { kind, reason } = containment;
  const advice =
    'Allow user namespaces (docs/containment.md), or keep nothing on this machine that agents must not read.';
  const fault = isolationFault(containment, loaded.workflow, io.env);
  const secrets = secretsInEnvironment(loaded.workflow, io.env);
  const readable = secrets.length === 0 ? '' : ` They can also read ${secrets.join(', ')}.`;
  const findings = [
    kind === 'pidns'
      ? report('note', 'isolated', where, reason)
      : fault
        ? report('error', fault.code, where, fault.message, ERRORS[fault.code].action)
        : report('warning', 'not_isolated', where, `${reason}${readable}`, advice),
  ];
  if (process.geteuid?.() === 0) {
    const message = 'check runs as root: agents would be root too and could undo their isolation';
    findings.push(report('warning', 'runs_as_root', null, message, 'Run Baton as an ordinary user.'));
    return findings;
  }
  const sockets = await rootSockets(io.env);
  if (sockets.length > 0) {
    const message = `your user can write ${sockets.join(', ')}: an agent or a hook that reaches it can become root`;
    const remedy =
      'Run Baton as a user outside of the groups docker, podman, lxd and incus-admin, or use rootless containers.';
    findings.push(report('warning', 'root_socket', null, message, remedy));
  }
  return findings;
}

/** Of services that run as root and start containers. */
const ROOT_SOCKETS = [
  '/run/docker.sock',
  '/run/podman/podman.sock',
  '/run/containerd/containerd.sock',
  '/run/incus/unix.socket',
  '/var/lib/incus/unix.socket',
  '/var/lib/lxd/unix.socket',
  '/var/snap/lxd/common/lxd/unix.socket',
];

/** The sockets that this user can write and that belong to root. */
async function rootSockets({ DOCKER_HOST: docker = '' }: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const paths = new Set([...ROOT_SOCKETS, ...(docker.startsWith('unix://') ? [docker.slice('unix://'.length)] : [])]);
  const isOpen = async (path: string) => {
    const { uid } = await stat(path);
    await access(path, constants.W_OK);
    return uid === 0;
  };
  const found = await Promise.all([...paths].map((path) => isOpen(path).catch(() => false)));
  return [...paths].filter((_, index) => found[index]);
}

/** Checks folder and disk space for workspaces. Creates nothing. */
export async function workspaceFindings(context: CheckContext, stateDir: string): Promise<Finding[]> {
  const { file, at, loaded, io } = context;
  const { workflow } = loaded;
  const { root, minFreeMb } = workflow.config.workspace;
  const report = reporter('Workspaces', file);
  const where = at(['workspace', 'root']);
  try {
    const real = await checkWorkspaceRoot({ root, workflowDir: workflow.dir, home: io.homeDir });
    if (real === stateDir || isInside(stateDir, real)) {
      const message = `workspace.root ${real} lies inside the state directory ${stateDir}, which is hidden from every run`;
      return [report('error', 'invalid_workspace_root', where, message, ERRORS.invalid_workspace_root.action)];
    }
    const freeMb = await freeDiskMb(await existingPart(real));
    if (freeMb !== null && freeMb < minFreeMb) {
      const message = `${freeMb} MB are free for ${real}, workspace.min_free_mb is ${minFreeMb}, so no run would start`;
      const minimum = at(['workspace', 'min_free_mb']);
      return [report('error', 'low_disk', minimum, message, ERRORS.low_disk.action)];
    }
    const free = freeMb === null ? '' : `, ${freeMb} MB free`;
    return [report('note', 'workspaces_fine', where, `workspaces are created in ${real}${free}`)];
  } catch (thrown) {
    const error = toBatonError(thrown);
    return [report('error', error.code, where, error.message)];
  }
}
