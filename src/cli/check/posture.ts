import { basename } from 'node:path';
import type { Containment } from '../../../runner/contain/process.js';
import { type LimitMeans, limitsText, machineMemoryMb } from '../../../runner/contain/run-limits.js';
import { usesProfile } from '../../../runner/executors/codex/thread-config.js';
import type { Config, Trust } from '../../domain/config.js';
import type { Json } from '../../domain/json.js';
import { allSteps, type Plan } from '../../domain/steps/plan.js';
import { counted, formatTokens } from '../../text/format-numbers.js';
import { type CheckContext, type Finding, reporter } from './finding.js';
import { isFromWorkspace } from './sandbox-findings.js';

/** What agents can read, write, reach and spend with these settings on this machine, and who can start them: one line each. */
export function postureFindings({ file, at, loaded, containment }: CheckContext, means: LimitMeans): Finding[] {
  const { config, plan } = loaded.workflow;
  const report = reporter('Posture', file);
  const agents = agentsOf(plan, config);
  const lines = {
    read: readable(agents, config, containment.kind),
    write: writable(agents),
    reach: reachable(agents, config),
    spend: spendable(config, means),
    start: starters(config.tracker),
  };
  const places = {
    read: ['codex', 'readable'],
    write: ['codex', 'thread_sandbox'],
    reach: ['codex', 'web_search'],
    spend: ['agent', 'max_tokens_per_issue'],
    start: ['tracker', 'trust'],
  };
  return Object.entries(lines).map(([name, text]) =>
    report('note', `posture_${name}`, at(places[name as keyof typeof places]), `${name}: ${text}`),
  );
}

interface Agents {
  /** Whether the command starts Codex. What the sandbox of another agent does is not known. */
  readonly isCodex: boolean;
  /** Codex with Baton's own permission profile, which restricts reading. */
  readonly isConfined: boolean;
  /** What a sandbox of Codex without network lets agents write; null: another sandbox. */
  readonly writable: string | null;
  /** Kinds of steps whose programs run as the user, without a sandbox. */
  readonly unconfinedSteps: readonly string[];
}

const WRITABLE = new Map<Json, string>([
  ['workspace-write', 'their own workspace and TMPDIR'],
  ['read-only', 'nothing'],
]);
const UNCONFINED = ['external', 'capability'];

/** `codex`, or a path to it. Not a program that agents can replace, as with `npx`. */
function startsCodex(command: string): boolean {
  const names = command.split(/[\s'"]+/).map((word) => basename(word));
  return !isFromWorkspace(command) && names.some((name) => /^codex(?:\.[cm]?js)?$/.test(name));
}

function agentsOf({ steps }: Plan, { codex }: Config): Agents {
  const kinds = [...allSteps(steps)].flatMap((step) => (step.shape === 'action' ? [step.action.kind] : []));
  const isCodex = startsCodex(codex.command);
  const isConfined = isCodex && usesProfile(codex);
  const sandbox = !isCodex
    ? null
    : isConfined
      ? 'workspace-write'
      : codex.turnSandboxPolicy === null
        ? codex.threadSandbox
        : null;
  return {
    isCodex,
    isConfined,
    writable: WRITABLE.get(sandbox) ?? null,
    unconfinedSteps: UNCONFINED.filter((kind) => kinds.includes(kind as (typeof kinds)[number])),
  };
}

function readable(agents: Agents, { codex }: Config, isolation: Containment['kind']): string {
  const all =
    isolation === 'pidns'
      ? 'everything that your user can read, except the state of Baton'
      : 'everything that your user can read, the state and the environment of Baton included';
  const confined = ['the system, toolchains, their own workspace and TMPDIR', ...codex.readable].join(', ');
  return withSteps(agents, agents.isConfined ? confined : ownSandbox(agents, all), all);
}

function writable(agents: Agents): string {
  const all = 'everything that your user can write';
  const confined = agents.writable === null ? null : `${agents.writable}${isLinuxRoot() ? AS_ROOT : ''}`;
  return withSteps(agents, confined ?? ownSandbox(agents, all), all);
}

/** Codex gives its commands a `/proc` of their own, and the kernel asks for no right but the user id there. */
const AS_ROOT = '; as root also settings of the kernel (/proc/sys), which can make it start programs';

function isLinuxRoot(): boolean {
  return process.platform === 'linux' && process.geteuid?.() === 0;
}

function ownSandbox({ isCodex }: Agents, all: string): string {
  return isCodex ? all : `${all}, unless the agent has a sandbox of its own`;
}

function reachable(agents: Agents, { tracker, codex }: Config): string {
  const { raw_tool: rawTool = false } = tracker.provider;
  const tools = [
    'their model',
    'their own issue',
    ...(rawTool === false ? [] : [`the API of the tracker (raw_tool: ${rawTool})`]),
    ...(codex.webSearch ? ['web search'] : []),
    ...codex.mcpServers.map((name) => `the MCP server ${name}`),
  ].join(', ');
  return withSteps(
    agents,
    agents.writable === null ? `what their sandbox allows; ${tools}` : `no network; ${tools}`,
    'the network',
  );
}

/** Agents, then the steps without a sandbox, when they differ. */
function withSteps({ unconfinedSteps }: Agents, agents: string, steps: string): string {
  if (agents === steps || unconfinedSteps.length === 0) return agents;
  return `${agents}; ${unconfinedSteps.join(' and ')} steps: ${steps}`;
}

function spendable({ agent, runtime, workspace }: Config, means: LimitMeans): string {
  const { maxTokensPerIssue, maxTokensPerDay, maxConcurrentAgents } = agent;
  const budget = (tokens: number | null, of: string) =>
    tokens === null ? [] : [`${formatTokens(tokens)} tokens ${of}`];
  const budgets = [...budget(maxTokensPerIssue, 'per issue'), ...budget(maxTokensPerDay, 'per day')];
  const tokens = budgets.length === 0 ? 'tokens without limit' : budgets.join(', ');
  const disk = workspace.maxMb === null ? 'any disk space' : `${workspace.maxMb} MB per workspace`;
  const limits = limitsText(runtime, means, machineMemoryMb());
  const hint = means.obstacle === null ? '' : '; an installed service limits each run by a control group';
  return `${tokens}, ${counted(maxConcurrentAgents, 'agent')} at a time; ${disk}, ${limits}${hint}`;
}

/** Only members, on a forge, where everybody can write issues. */
const MEMBERS_BY_DEFAULT = ['github', 'gitlab'];

/** Trackers whose kind does not name a place. */
const ISSUES_OF = new Map([
  ['local', 'the files of the issues'],
  ['command', 'issues in the tracker'],
]);

/** Whose issues may start agents. */
export function trustOf({ kind, trust }: Config['tracker']): Trust {
  return trust ?? (MEMBERS_BY_DEFAULT.includes(kind) ? 'members' : 'anyone');
}

function starters(tracker: Config['tracker']): string {
  const { kind, requiredLabels } = tracker;
  const rule = trustOf(tracker);
  const who =
    rule === 'members'
      ? 'members'
      : rule === 'anyone'
        ? `anyone who can write ${ISSUES_OF.get(kind) ?? `issues in ${kind}`}`
        : rule.join(', ');
  const labels = requiredLabels.length === 0 ? '' : `, on issues with the label ${requiredLabels.join(' and ')}`;
  return `${who}${labels}`;
}
