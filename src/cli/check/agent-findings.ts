import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Environment, environmentFor } from '../../../runner/environment.js';
import { allSteps, type Plan } from '../../domain/steps/plan.js';
import { askLoginShell, type LoginShell } from '../login-shell.js';
import { runShell } from '../run-shell.js';
import type { CheckContext } from './check-context.js';
import { type Finding, reporter } from './finding.js';
import { firstWord, type ShellWord } from './first-word.js';
import { scriptPlace } from './script-place.js';

const VERSION_LIMIT_MS = 5_000;
export const INSTALL_CODEX = 'npm install -g @openai/codex';

export interface AgentReport {
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
  const environment = agentEnvironment(context);
  const cwd = loaded.workflow.dir;
  const shell = await askLoginShell({ word: word?.raw ?? null, ...environment, cwd }, containment);
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

export function agentEnvironment({ io, loaded }: CheckContext): Environment {
  const { workflow } = loaded;
  return environmentFor('agent', {
    base: io.env,
    policy: workflow.config.runtime.env,
    allow: workflow.config.runtime.envAllow,
    hookAllow: [],
    secretNames: workflow.secretNames,
    extra: { TMPDIR: tmpdir(), BATON_RUN_ID: 'check', BATON_WORKSPACE: workflow.dir },
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
