import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { environmentFor } from '../../../runner/environment.js';
import { createClock } from '../../clock.js';
import type { TrackerRegistry } from '../../tracker/registry.js';
import type { Io } from '../io.js';
import { readLoginShell, runShell } from '../shell.js';
import { STARTER_KINDS } from './starters.js';

export interface AgentChoice {
  readonly name: string;
  readonly command: string;
  readonly isInstalled: boolean;
}

/** The choices, with the proposal first, and the facts of git. */
export interface Surroundings {
  readonly git: GitFacts;
  readonly agents: readonly AgentChoice[];
  readonly trackers: readonly string[];
}

/** Codex asks github.com for its plugins when it starts, before it gets Baton's settings, unless an argument forbids it. */
const CODEX_COMMAND = 'codex app-server -c features.plugins=false';

export async function readSurroundings(
  dir: string,
  io: Io,
  registry: TrackerRegistry,
  demoAgentCommand: string | undefined,
): Promise<Surroundings> {
  const [git, hasCodex] = await Promise.all([gitFacts(dir, io), isCodexInstalled(dir, io)]);
  const codex = { name: 'codex', command: CODEX_COMMAND, isInstalled: hasCodex };
  const demo = { name: 'demo', command: demoAgentCommand ?? '', isInstalled: demoAgentCommand !== undefined };
  const agents = demo.isInstalled ? (hasCodex ? [codex, demo] : [demo, codex]) : [codex];
  const trackers = STARTER_KINDS.map(({ kind }) => kind).filter((kind) => registry.kinds.includes(kind));
  return { git, agents, trackers };
}

/** Asks the login shell, which starts agents: the daemon does not see a codex that only the terminal finds. */
async function isCodexInstalled(cwd: string, io: Io): Promise<boolean> {
  const clock = createClock();
  try {
    const containment = await detectContainment({ isolation: 'none', hide: [], clock });
    const extra = { TMPDIR: tmpdir() };
    const request = { base: io.env, policy: 'allowlist', allow: [], hookAllow: [], secretNames: [], extra } as const;
    const shell = await readLoginShell({ word: 'codex', ...environmentFor('agent', request), cwd }, containment);
    return typeof shell !== 'string' && shell.found.startsWith('/');
  } finally {
    clock.close();
  }
}

const TIME_LIMIT_MS = 10_000;

/** What git knows about a folder without contacting a remote. */
interface GitFacts {
  /** False when git is not installed. */
  readonly hasGit: boolean;
  /** Why git refused the folder; null when it did not, or when there is no repository. */
  readonly refusal: string | null;
  /** The top folder of the repository; null outside of a repository. */
  readonly top: string | null;
  /** Of `origin`, or of the only remote. A path is absolute. */
  readonly remoteUrl: string | null;
  /** The default branch of the remote at the last fetch. */
  readonly defaultBranch: string | null;
  /** The branch that is checked out; null when HEAD is detached. */
  readonly branch: string | null;
  readonly hasCommits: boolean;
}

const SCRIPT = `
command -v git >/dev/null || { printf 'no-git'; exit; }
printf 'git\\0'
top=$(git rev-parse --show-toplevel 2>&1) || { printf '\\0%s' "$top"; exit; }
remote=origin
git remote get-url origin >/dev/null 2>&1 || remote=$(git remote)
[ "$(printf '%s\\n' "$remote" | wc -l)" = 1 ] || remote=
url=; default=
if [ -n "$remote" ]; then
  url=$(git remote get-url "$remote" 2>/dev/null)
  default=$(git symbolic-ref --quiet --short "refs/remotes/$remote/HEAD" 2>/dev/null)
  default=\${default#"$remote"/}
fi
branch=$(git symbolic-ref --quiet --short HEAD 2>/dev/null)
commits=$(git rev-parse --quiet --verify HEAD 2>/dev/null)
printf '%s\\0' "$top" "$url" "$default" "$branch" "$commits"
`;

async function gitFacts(dir: string, io: Io): Promise<GitFacts> {
  const clock = createClock();
  try {
    const containment = await detectContainment({ isolation: 'none', hide: [], clock });
    const { env } = environmentFor('hook', {
      base: io.env,
      policy: 'allowlist',
      allow: ['GIT_*'],
      hookAllow: [],
      secretNames: [],
      extra: { GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0' },
    });
    const request = { bash: ['-c', SCRIPT], env, cwd: dir, timeoutMs: TIME_LIMIT_MS };
    const result = await runShell(request, containment);
    return parse(result.ended === 'exited' ? result.stdout : 'git\0');
  } finally {
    clock.close();
  }
}

function parse(answer: string): GitFacts {
  const [git, top, url, defaultBranch, branch, commits] = answer.split('\0');
  const [complaint = ''] = top ? [] : (url ?? '').split('\n');
  return {
    hasGit: git === 'git',
    refusal: complaint === '' || complaint.includes('not a git repository') ? null : complaint,
    top: top || null,
    remoteUrl: top && url ? absoluteUrl(url, top) : null,
    defaultBranch: defaultBranch || null,
    branch: branch || null,
    hasCommits: Boolean(commits),
  };
}

/** A remote may be a path; a relative path would not work in a workspace. */
function absoluteUrl(url: string, top: string): string {
  const isPath = !/^[a-z][a-z0-9+.-]*:/i.test(url) && !/^[^/]+:/.test(url);
  return isPath ? resolve(top, url) : url;
}
