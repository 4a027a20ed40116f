import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hookVariables } from '../../../hooks/hook-variables.js';
import type { Containment } from '../../../runner/contain/process.js';
import { type Environment, hookEnvironment } from '../../../runner/environment.js';
import { HOOK_NAMES, type HookName } from '../../domain/config.js';
import type { JsonObject } from '../../domain/json.js';
import { type LoginShell, readLoginShell, runShell } from '../shell.js';
import {
  type CheckContext,
  type Finding,
  type Group,
  type PositionIn,
  positionIn,
  reporter,
  SAMPLE_ISSUE,
  type WorkflowText,
} from './finding.js';

const SHIPPED = /\$\{?BATON_HOOKS\}?"?\/([\w.-]+)/g;

/** Finds missing scripts, and variables that hooks and the agent command do not get. */
export async function hookFindings(context: CheckContext, agentShell: LoginShell | null): Promise<Finding[]> {
  const { file, at, lines, loaded, containment } = context;
  const report = reporter('Hooks', file);
  const { hooks, codex } = loaded.workflow.config;
  const environment = sampleHookEnvironment(context);
  const cwd = loaded.workflow.dir;
  const findings: Finding[] = [];
  const configured = HOOK_NAMES.flatMap((name) => {
    const text = hooks.scripts[name];
    return text === null ? [] : [{ name, text, position: positionIn(lines, at(['hooks', name]), text) }];
  });

  const shell = configured.length === 0 ? null : await readLoginShell({ word: null, ...environment, cwd }, containment);
  for (const { name, text, position } of configured) {
    const script: ScriptUnderCheck = { label: `hooks.${name}`, kind: 'hook', text, position, shipped: [] };
    for (const { index, 1: wanted = '' } of text.matchAll(SHIPPED)) {
      const before = text.slice(0, index).split('\n');
      const where = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
      const path = join(environment.env.BATON_HOOKS ?? '', wanted);
      const shipped = await readFile(path, 'utf8').catch(() => null);
      if (shipped !== null) script.shipped.push({ name: wanted, text: shipped, ...where });
      else {
        const message = `hooks.${name} uses $BATON_HOOKS/${wanted}, which is not among the scripts that Baton ships`;
        const advice = 'There are clone-or-update.sh, worktree-from-cache.sh and commit-and-push.sh.';
        findings.push(report('error', 'hook_script_missing', position(where.line, where.column), message, advice));
      }
    }
    if (shell !== null && typeof shell !== 'string') findings.push(...unavailableVariables(context, script, shell));
    findings.push(...leftOutVariables(context, script, environment));
  }
  if (agentShell !== null) {
    const position = positionIn(lines, at(['codex', 'command']), codex.command);
    const script = { label: 'codex.command', kind: 'agent', text: codex.command, position, shipped: [] } as const;
    findings.push(...unavailableVariables(context, { ...script, shipped: [] }, agentShell));
  }
  if (findings.length === 0)
    findings.push(report('note', 'hooks_fine', at(['hooks']), describeHooks(configured.map(({ name }) => name))));
  return findings;
}

function sampleHookEnvironment({ io, loaded }: CheckContext): Environment {
  const { workflow } = loaded;
  const variables = hookVariables({
    hook: 'before_run',
    issue: SAMPLE_ISSUE,
    workspace: workflow.dir,
    workflowDir: workflow.dir,
    issueFile: join(tmpdir(), 'issue.json'),
    deliveryFile: '',
    runId: 'check',
    attempt: null,
    runOutcome: null,
  });
  return hookEnvironment(workflow, io.env, { ...variables, TMPDIR: tmpdir() });
}

function describeHooks(names: readonly HookName[]): string {
  if (names.length === 0) return 'there are no hooks: workspaces start empty, and no work is pushed';
  return `${names.join(', ')}: they get every variable they use`;
}

interface ScriptUnderCheck {
  /** The setting that contains the script. */
  readonly label: string;
  readonly kind: 'hook' | 'agent';
  readonly text: string;
  readonly position: PositionIn;
  /** The ready-made scripts that it starts, with their positions. */
  readonly shipped: { readonly name: string; readonly text: string; readonly line: number; readonly column: number }[];
}

/** Variables that bash sets during a script. */
const BY_BASH = new Set([
  'REPLY',
  'OPTARG',
  'OPTIND',
  'OLDPWD',
  'BASH_REMATCH',
  'MAPFILE',
  'COPROC',
  'RANDOM',
  'LINENO',
]);

interface Wanted {
  readonly name: string;
  readonly line: number;
  readonly column: number;
  readonly isRequired: boolean;
  /** The ready-made script that needs the variable. */
  readonly by: string | null;
}

/** Variables that a script reads but does not get. One finding for each name. */
function unavailableVariables(context: CheckContext, script: ScriptUnderCheck, shell: LoginShell): Finding[] {
  const own = shellVariables(script.text);
  const wanted: Wanted[] = own.uses.map((use) => ({ ...use, by: null }));
  for (const { name: by, text, line, column } of script.shipped) {
    const { uses } = shellVariables(text);
    wanted.push(
      ...uses.filter(({ isRequired }) => isRequired).map(({ name }) => ({ name, line, column, isRequired: true, by })),
    );
  }
  const reported = new Set<string>();
  return wanted.flatMap((want) => {
    const given = want.by === null ? own.assigned : own.exported;
    const isSeen = given.has(want.name) || shell.variables.has(want.name) || BY_BASH.has(want.name);
    if (isSeen || reported.has(want.name)) return [];
    reported.add(want.name);
    return [describeVariable(context, script, want, own.assigned.has(want.name))];
  });
}

function describeVariable(
  { file, io, loaded }: CheckContext,
  script: ScriptUnderCheck,
  want: Wanted,
  isAssigned: boolean,
): Finding {
  const { name, isRequired, by } = want;
  const report = reporter(script.kind === 'hook' ? 'Hooks' : 'Agent', file);
  const level = isRequired ? 'error' : 'warning';
  const code = isRequired ? 'variable_missing' : 'variable_unseen';
  const at = script.position(want.line, want.column);
  const user = by === null ? `${script.label} uses` : `${by} in ${script.label} needs`;
  const [allow, users] = script.kind === 'hook' ? ['hooks.env_allow', 'hooks'] : ['runtime.env_allow', 'agents'];
  if (isAssigned) {
    const message = `${user} $${name}, which the hook sets but does not export`;
    return report(level, code, at, message, `Write: export ${name}=…`);
  }
  if (loaded.workflow.secretNames.includes(name)) {
    const message = `${user} $${name}, a secret of the tracker, which ${users} do not get`;
    const advice =
      script.kind === 'hook'
        ? `Name ${name} in hooks.env_allow if the hook must have it.`
        : 'Use another token for agents.';
    return report(level, code, at, message, advice);
  }
  if ((io.env[name] ?? '') !== '') {
    const message = `${user} $${name}, which is set here but not passed on to ${users}`;
    return report(level, code, at, message, `Add ${name} to ${allow}.`);
  }
  const message = `${user} $${name}, which is not set`;
  return report(
    level,
    code,
    at,
    message,
    `Assign it in the script, or set it for the daemon and add ${name} to ${allow}.`,
  );
}

/** Variables that programs read by themselves, and which hooks do not get by default. */
const READ_BY_PROGRAMS: readonly (readonly [program: RegExp, variables: RegExp])[] = [
  [/\bgit\b|\$\{?BATON_HOOKS/, /^GIT_(?:SSH|SSH_COMMAND|ASKPASS|AUTHOR_\w+|COMMITTER_\w+|CONFIG_\w+)$/],
  [/\b(?:docker|docker-compose)\b/, /^DOCKER_HOST$/],
  [/\bpodman\b/, /^(?:XDG_RUNTIME_DIR|DOCKER_HOST)$/],
  [/\b(?:systemctl --user|systemd-run --user|secret-tool|notify-send|busctl)\b/, /^(?:XDG_RUNTIME_DIR|DBUS_\w+)$/],
];

/** One warning for each variable that a program in the hook probably needs and that is set here. */
function leftOutVariables({ file, io }: CheckContext, script: ScriptUnderCheck, { env }: Environment): Finding[] {
  const needed = READ_BY_PROGRAMS.filter(([program]) => program.test(script.text)).map(([, variables]) => variables);
  const names = Object.keys(io.env).filter(
    (name) => !(name in env) && !script.text.includes(name) && needed.some((pattern) => pattern.test(name)),
  );
  return names.map((name) => {
    const message = `a program in ${script.label} reads ${name}, which is set here but not passed on to hooks`;
    const at = script.position(1, 1);
    return reporter('Hooks', file)('warning', 'variable_left_out', at, message, `Add ${name} to hooks.env_allow.`);
  });
}

/** A use of a variable without a default value. */
interface VariableUse {
  readonly name: string;
  readonly line: number;
  readonly column: number;
  /** `${NAME:?…}`: the script fails without the variable. */
  readonly isRequired: boolean;
}

interface ShellVariables {
  readonly uses: readonly VariableUse[];
  /** Names that the script assigns anywhere. */
  readonly assigned: ReadonlySet<string>;
  /** The assigned names that the script exports. */
  readonly exported: ReadonlySet<string>;
}

const NAME = '[A-Za-z_][A-Za-z0-9_]*';
const PLAIN = new RegExp(`^\\$(${NAME})`);
const BRACED = new RegExp(`^\\$\\{(?:[#!]?)(${NAME})(?:\\[[^\\]]*\\])?(:?[-=?+])?`);
const HERE_DOCUMENT = /^<<(-?)[ \t]*(['"\\]?)([\w.-]+)['"]?/;

/**
 * Finds the variables that a shell script reads. Understands quotes, comments, here-documents and defaults, but not which branch
 * runs.
 */
export function shellVariables(script: string): ShellVariables {
  const found: { offset: number; name: string; isRequired: boolean }[] = [];
  walk(script, (offset, text) => {
    const braced = BRACED.exec(text);
    const name = (braced ?? PLAIN.exec(text))?.[1];
    const operator = braced?.[2]?.at(-1);
    if (name === undefined || operator === '-' || operator === '=' || operator === '+') return;
    found.push({ offset, name, isRequired: operator === '?' });
  });
  const assigned = assignedIn(script);
  const uses = found.map(({ offset, name, isRequired }) => ({ name, isRequired, ...positionOf(script, offset) }));
  return { uses, assigned, exported: ALL_EXPORTED.test(script) ? assigned : exportedIn(script) };
}

/** Calls back for every `$` that the shell would expand. */
function walk(script: string, onDollar: (offset: number, text: string) => void): void {
  const open: ('"' | '(')[] = [];
  const documents: { readonly end: string; readonly isQuoted: boolean; readonly isIndented: boolean }[] = [];
  for (let at = 0; at < script.length; at++) {
    const character = script.charAt(at);
    const isQuoted = open.at(-1) === '"';
    if (character === '\\') at += 1;
    else if (character === '"') {
      if (isQuoted) open.pop();
      else open.push('"');
    } else if (!isQuoted && character === "'") {
      at = endOfQuote(script, at + 1, script.charAt(at - 1) === '$');
    } else if (!isQuoted && character === '#' && /^$|[\s;&|(]/.test(script.charAt(at - 1))) {
      at = lineEnd(script, at) - 1;
    } else if (character === '$') {
      onDollar(at, script.slice(at, at + 300));
      const next = script.charAt(at + 1);
      if (next === '(') open.push('(');
      if (next === '(' || next === '$') at += 1;
    } else if (!isQuoted && character === '(') open.push('(');
    else if (character === ')' && open.at(-1) === '(') open.pop();
    else if (!isQuoted && script.startsWith('<<<', at)) at += 2;
    else if (!isQuoted && character === '<') {
      const [text = '', dash, quote, end] = HERE_DOCUMENT.exec(script.slice(at, at + 100)) ?? [];
      if (end !== undefined) documents.push({ end, isQuoted: quote !== '', isIndented: dash === '-' });
      at += Math.max(0, text.length - 1);
    } else if (character === '\n') {
      for (const document of documents.splice(0)) at = skipDocument(script, at + 1, document, onDollar);
    }
  }
}

function skipDocument(
  script: string,
  start: number,
  { end, isQuoted, isIndented }: { readonly end: string; readonly isQuoted: boolean; readonly isIndented: boolean },
  onDollar: (offset: number, text: string) => void,
): number {
  let at = start;
  while (at < script.length) {
    const stop = lineEnd(script, at);
    const line = script.slice(at, stop);
    if ((isIndented ? line.replace(/^\t+/, '') : line) === end) return stop;
    if (!isQuoted) {
      for (const { index } of line.matchAll(/(?<!\\)\$/g)) onDollar(at + index, line.slice(index));
    }
    at = stop + 1;
  }
  return at;
}

const ASSIGNMENTS = [
  new RegExp(`(?:^|[\\s;&|({])(${NAME})(?:\\[[^\\]]*\\])?\\+?=`, 'gm'),
  new RegExp(`\\$\\{(${NAME}):?=`, 'g'),
  new RegExp(`\\b(?:for|select)\\s+(${NAME})\\b`, 'g'),
  new RegExp(`\\bprintf\\s+-v\\s+(${NAME})\\b`, 'g'),
  new RegExp(`\\bgetopts\\s+\\S+\\s+(${NAME})\\b`, 'g'),
];
const ASSIGNING_COMMANDS = /\b(?:read|mapfile|readarray|local|declare|typeset)\b([^\n;|&<]*)/g;

function assignedIn(script: string): Set<string> {
  const names = new Set<string>();
  for (const pattern of ASSIGNMENTS) for (const [, name] of script.matchAll(pattern)) names.add(name ?? '');
  for (const [, words = ''] of script.matchAll(ASSIGNING_COMMANDS)) {
    for (const word of words.split(/\s+/)) if (new RegExp(`^${NAME}$`).test(word)) names.add(word);
  }
  return names;
}

const EXPORTING_COMMANDS = /\b(?:export|(?:declare|typeset)\s+-\w*x\w*)\b([^\n;&|]*)/g;
/** `NAME=value program` */
const BEFORE_A_PROGRAM = new RegExp(
  `(?:^|[\\s;&|(])(${NAME})=(?:"[^"]*"|'[^']*'|[^\\s;&|"'])*(?=[ \\t]+[^\\s;&|#)])`,
  'gm',
);
/** `set -a`, or a sourced ready-made script, which sees every variable of the hook. */
const ALL_EXPORTED = /\bset\s+(?:-\w*a|-o\s+allexport)\b|(?:^|[\s;&|])(?:\.|source)\s+["']?\$\{?BATON_HOOKS/m;

function exportedIn(script: string): Set<string> {
  const names = new Set<string>();
  for (const [, name] of script.matchAll(BEFORE_A_PROGRAM)) names.add(name ?? '');
  for (const [, words = ''] of script.matchAll(EXPORTING_COMMANDS)) {
    for (const [, name] of words.matchAll(new RegExp(`(?:^|\\s)(${NAME})(?==|\\s|$)`, 'g'))) names.add(name ?? '');
  }
  return names;
}

function endOfQuote(script: string, start: number, hasEscapes: boolean): number {
  let at = start;
  while (at < script.length && script.charAt(at) !== "'") at += hasEscapes && script.charAt(at) === '\\' ? 2 : 1;
  return at;
}

function lineEnd(script: string, from: number): number {
  const end = script.indexOf('\n', from);
  return end === -1 ? script.length : end;
}

function positionOf(script: string, offset: number): { line: number; column: number } {
  const before = script.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

const TIME_LIMIT_MS = 5_000;

/** Runs `bash -n` on every hook, the agent command and the notify command, even if other settings are invalid. */
export async function syntaxFindings(text: WorkflowText, cwd: string, containment: Containment): Promise<Finding[]> {
  const scripts: [Group, string, string][] = [
    ['Agent', 'codex', 'command'],
    ...HOOK_NAMES.map((name): [Group, string, string] => ['Hooks', 'hooks', name]),
    ['Notifications', 'notify', 'command'],
  ];
  const found = await Promise.all(
    scripts.map(async ([group, section, key]) => {
      const script = (text.frontMatter.values[section] as JsonObject | null | undefined)?.[key];
      if (typeof script !== 'string' || script.trim() === '') return [];
      const error = await syntaxError(script, cwd, containment);
      if (error === null) return [];
      const at = positionIn(text.lines, text.at([section, key]), script)(error.line);
      const advice = 'Correct the script. Bash rejects all of it.';
      return [reporter(group, text.file)('error', 'syntax_error', at, `${section}.${key}: ${error.message}`, advice)];
    }),
  );
  return found.flat();
}

async function syntaxError(
  script: string,
  cwd: string,
  containment: Containment,
): Promise<{ line: number; message: string } | null> {
  const bash = ['-n', '-c', script];
  const env = { LC_ALL: 'C' };
  const result = await runShell({ bash, env, cwd, timeoutMs: TIME_LIMIT_MS }, containment);
  if (result.ended === 'not_started') return { line: 1, message: result.message };
  if (result.ended === 'timeout' || result.code === 0) return null;
  const [, line, message] = /line (\d+): (.*)/.exec(result.stderr) ?? [];
  return { line: Number(line ?? 1), message: message ?? 'bash rejects it' };
}
