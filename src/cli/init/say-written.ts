import { join } from 'node:path';
import { INSTALL_CODEX } from '../check/agent-findings.js';
import { shellWord, shorter } from '../invocation.js';
import type { Io } from '../io.js';
import type { Surroundings } from './choices.js';
import type { Decisions } from './decide-starter.js';
import { EXAMPLE_ISSUE } from './example-issue.js';
import { TRACKER_BOARD } from './shipped-files.js';
import type { NewFile } from './write-files.js';

/** What a person should know before the first run. */
export function remarks({ git, agents }: Surroundings, { repoUrl, hadSecret, agent }: Decisions): string[] {
  const said: string[] = [];
  if (hadSecret) {
    said.push(
      'the address of the repository held a login: it was left out. Let git log in by ssh or a credential helper',
    );
  }
  if (repoUrl === null) {
    const nothing = git.top === null ? 'this is not a git repository' : 'there is no repository to work on';
    const why = git.hasGit ? (git.refusal ?? nothing) : 'git is not installed';
    const works = 'agents start in empty folders, and what they make is copied to baton-results';
    const first = git.hasGit ? '`git init`, commit' : 'install git';
    said.push(`${why}: ${works}. To work on code: ${first}, remove WORKFLOW.md and run init again`);
  } else if (repoUrl === git.top) {
    said.push(
      'there is no remote: agents clone this folder, and their work arrives here as branches named baton/<issue>',
    );
    if (!git.hasCommits) said.push('there are no commits yet: make the first one before the first run');
    else if (git.branch === null) said.push('no branch is checked out: check one out before the first run');
  }
  const isCodexMissing = agents.some(({ name, isInstalled }) => name === 'codex' && !isInstalled);
  const missing = 'codex is not found by a login shell (`bash -lc`), which is what starts agents';
  const remedy = `${INSTALL_CODEX}, or set PATH in ~/.profile`;
  if (!agent.isInstalled) said.push(`${missing}. ${remedy}`);
  else if (agent.name === 'demo' && isCodexMissing) {
    said.push(
      `${missing}: the demo agent does the work, which only plays. For real work: ${remedy}; then --agent codex`,
    );
  }
  return said;
}

interface Written {
  readonly files: readonly NewFile[];
  readonly dir: string;
  /** How the person calls us. */
  readonly command: string;
  readonly decisions: Decisions;
  readonly io: Io;
}

export function farewell({ files, dir, command, decisions, io }: Written): string {
  const paths = files.map(({ path }) => `  ${shorter(join(dir, path), io.cwd)}\n`).join('');
  const path = shorter(join(dir, 'WORKFLOW.md'), io.cwd);
  const file = path === 'WORKFLOW.md' ? '' : ` ${shellWord(path)}`;
  const hasExample = files.some(({ path: one }) => one.startsWith('backlog/') || one === TRACKER_BOARD);
  const next = hasExample ? `--issue ${EXAMPLE_ISSUE}` : '--dry-run';
  const { agent, project } = decisions;
  const who = agent.name === 'demo' ? 'the demo agent' : agent.name;
  const where = project === null ? '' : ` of ${project.name}`;
  const what = `\nIssues${where} ${gate(decisions)} are worked on by ${who}, two at a time.\n`;
  return `Wrote\n${paths}${what}${unset(decisions, io)}Next:\n  ${command} check${file}\n  ${command} run${file} ${next}\n`;
}

function gate({ tracker, label }: Decisions): string {
  const word = JSON.stringify(label);
  return tracker.kind === 'redmine' ? `in the category ${word} (make it in the project)` : `with the label ${word}`;
}

/** What the daemon will miss: the value itself is never asked for, nor shown. */
function unset({ tracker }: Decisions, { env }: Io): string {
  const missing = tracker.variables.filter((names) => names.every((name) => !env[name]?.trim()));
  if (missing.length === 0) return '';
  const names = missing.map((names) => names.join(' or ')).join(' and ');
  return `First set ${names} where Baton is started:\n  ${tracker.token}.\n`;
}
