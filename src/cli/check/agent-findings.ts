import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { agentEnvironment, type Environment } from '../../../runner/environment.js';
import { isInside } from '../../../runner/workspace/workspace-path.js';
import { checkWorkspaceRoot, existingPart, freeDiskMb } from '../../../runner/workspace/workspace-root.js';
import { ERRORS } from '../../domain/error-table.js';
import { toBatonError } from '../../domain/errors.js';
import type { Json } from '../../domain/json.js';
import { allSteps, type Plan } from '../../domain/steps/plan.js';
import { type LoginShell, readLoginShell, runShell } from '../shell.js';
import { type CheckContext, type Finding, firstWord, reporter, type ShellWord, scriptPlace } from './finding.js';

const VERSION_LIMIT_MS = 5_000;
export const INSTALL_CODEX = 'npm install -g @openai/codex';

interface AgentReport {
  readonly findings: Finding[];
  /** The shell that the agent would be started by; `null` when it gave no answer. */
  readonly shell: LoginShell | null;
}

/** Resolves the agent command as the daemon would: the same environment, the same login shell. Nothing where no step starts it. */
export async function agentFindings(context: CheckContext): Promise<AgentReport> {
  const { file, at, lines, loaded, containment } = context;
  if (!usesAgentCommand(loaded.workflow.plan)) return { findings: [], shell: null };
  const { command } = loaded.workflow.config.codex;
  const report = reporter('Agent', file);
  const place = scriptPlace(lines, at(['codex', 'command']), command);
  const word = firstWord(command);
  const environment = sampleAgentEnvironment(context);
  const cwd = loaded.workflow.dir;
  const shell = await readLoginShell({ word: word?.raw ?? null, ...environment, cwd }, containment);
  if (typeof shell === 'string') {
    const advice = 'Agents and hooks are started by `bash -lc`: try `bash -lc true`, and look into your profile files.';
    return { findings: [report('error', 'shell_failed', place(1), shell, advice)], shell: null };
  }
  const where = place(1, (word?.offset ?? 0) + 1);
  if (word === null) {
    const message = 'codex.command begins with something that only shows when it runs: it was not looked up';
    return { findings: [report('note', 'agent_not_checked', where, message)], shell };
  }
  if (!shell.found)
    return { findings: [report('error', 'codex_not_found', where, ...(await missing(word, shell, context)))], shell };
  if (!shell.found.startsWith('/')) {
    const isRelative = shell.found.includes('/');
    const what = isRelative ? 'a path relative to the workspace' : 'a word of the shell itself';
    const message = `codex.command begins with ${shell.found}, ${what}: what it starts was not looked up`;
    return { findings: [report('note', 'agent_not_checked', where, message)], shell };
  }
  // By its bare name it is what this person installed; a path may lead to a file of the repository that is being checked.
  const version = word.raw === 'codex' ? await versionOf(environment, context) : null;
  if (version === undefined) {
    const message = `${shell.found} was found, but \`codex --version\` fails or takes over ${VERSION_LIMIT_MS / 1000} s`;
    return {
      findings: [report('warning', 'agent_no_version', where, message, `Reinstall it: ${INSTALL_CODEX}`)],
      shell,
    };
  }
  const message = `the agent is ${shell.found}${version === null ? '' : ` (${version})`}`;
  return { findings: [report('note', 'agent_found', where, message)], shell };
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

/** Message and advice. Found by the user's own shell but not by the login shell is a different trouble than not installed. */
async function missing(
  { raw }: ShellWord,
  { searchPath }: LoginShell,
  { io }: CheckContext,
): Promise<[string, string]> {
  const name = raw.replace(/["'\\]/g, '');
  if (name.includes('/')) {
    return [`${name} is not there, or may not be run`, 'Correct the path in codex.command.'];
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

/** `undefined` when it would not tell. */
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

/** The tracker's secrets in files that every login shell reads: ours unsets them again, one that an agent starts does not. */
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
        const message = `${variable}, a secret of the tracker, is set in a shell profile: an agent that starts a login shell has it`;
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

/** Settings that are valid, and that a person should have chosen knowingly. */
export function riskFindings({ file, at, loaded }: CheckContext): Finding[] {
  const report = reporter('Workflow', file);
  const { tracker, codex, runtime, agent } = loaded.workflow.config;
  const findings: Finding[] = [];
  const warn = (code: string, path: string[], message: string, advice: string) =>
    findings.push(report('warning', code, at(path), message, advice));

  if (tracker.requiredLabels.length === 0) {
    const message = 'no tracker.required_labels: every issue in an active state is started, whoever wrote it';
    warn(
      'no_label_gate',
      ['tracker', 'required_labels'],
      message,
      'Name a label that people put on what Baton may do.',
    );
  } else if (tracker.requiredLabels.some((label) => label === '')) {
    const message = 'tracker.required_labels holds a blank label, which no issue has: nothing is ever started';
    warn('blank_label', ['tracker', 'required_labels'], message, 'Write the label, or remove the blank one.');
  }
  const sandbox = 'Use workspace-write, and do what needs more in hooks.';
  if (isFullAccess(codex.threadSandbox)) {
    const message = 'codex.thread_sandbox is danger-full-access: whatever an issue makes the agent do, it does as you';
    warn('full_access', ['codex', 'thread_sandbox'], message, sandbox);
  }
  if (isFullAccess(codex.turnSandboxPolicy)) {
    const message = 'codex.turn_sandbox_policy gives full access: whatever an issue makes the agent do, it does as you';
    warn('full_access', ['codex', 'turn_sandbox_policy'], message, sandbox);
  }
  if (codex.onApprovalRequest === 'accept') {
    const message = 'codex.on_approval_request is accept: every request of the agent to leave its sandbox is granted';
    warn('accepts_all', ['codex', 'on_approval_request'], message, 'Use decline, or ask to have a person answer.');
  }
  if (runtime.env === 'inherit') {
    const message =
      'runtime.env is inherit: agents and hooks see every variable of the daemon but the tracker’s secrets';
    warn('env_inherit', ['runtime', 'env'], message, 'Use allowlist, and name what they need in runtime.env_allow.');
  }
  if (agent.maxTokensPerIssue === null && agent.maxTokensPerDay === null) {
    const message = 'there is no token budget: an agent that never ends its work costs without limit';
    warn(
      'no_budget',
      ['agent', 'max_tokens_per_issue'],
      message,
      'Set agent.max_tokens_per_issue or max_tokens_per_day.',
    );
  }
  return findings;
}

/** The words of both settings: `danger-full-access`, `{ type: dangerFullAccess }`. */
function isFullAccess(setting: Json): boolean {
  const isMap = typeof setting === 'object' && setting !== null && !Array.isArray(setting);
  const word = isMap ? (setting as { readonly [key: string]: Json }).type : setting;
  return typeof word === 'string' && word.replace(/[-_\s]/g, '').toLowerCase() === 'dangerfullaccess';
}

/** How well runs are kept apart from everything else here. */
export function isolationFindings({ file, at, containment }: CheckContext): Finding[] {
  const report = reporter('Isolation', file);
  const where = at(['runtime', 'isolation']);
  const { kind, reason } = containment;
  const advice =
    'Allow user namespaces (docs/containment.md), or leave nothing on this machine that an agent may not read.';
  const findings = [
    kind === 'pidns'
      ? report('note', 'isolated', where, reason)
      : report('warning', 'not_isolated', where, reason, advice),
  ];
  if (process.geteuid?.() === 0) {
    const message = 'this is root: agents are root too and can undo their isolation';
    findings.push(report('warning', 'runs_as_root', null, message, 'Run Baton as an ordinary user.'));
  }
  return findings;
}

/** Whether workspaces can be made, and whether there is room for them. Makes nothing. */
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
      const message = `${freeMb} MB are free for ${real}, workspace.min_free_mb is ${minFreeMb}: nothing would be started`;
      const minimum = at(['workspace', 'min_free_mb']);
      return [report('error', 'low_disk', minimum, message, ERRORS.low_disk.action)];
    }
    const free = freeMb === null ? '' : `, ${freeMb} MB free`;
    return [report('note', 'workspaces_fine', where, `workspaces are made in ${real}${free}`)];
  } catch (thrown) {
    const error = toBatonError(thrown);
    return [report('error', error.code, where, error.message)];
  }
}
