import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { environmentFor } from '../../../runner/environment.js';
import { createClock } from '../../clock.js';
import { BatonError } from '../../domain/errors.js';
import { nearestWord } from '../../domain/nearest-word.js';
import { neutralise } from '../../text/neutralise.js';
import type { TrackerRegistry } from '../../tracker/registry.js';
import type { InitOptions } from '../init.js';
import type { Io } from '../io.js';
import { openPrompt } from '../prompt.js';
import { readLoginShell, runShell } from '../shell.js';
import { guessProject, readProject, type TrackerProject } from './project-address.js';
import { STARTER_KINDS, type StarterKind, starterKind } from './starters.js';

export interface StarterChoices {
  readonly tracker: StarterKind;
  /** `null`: the tracker has one board only. */
  readonly project: TrackerProject | null;
  readonly agent: AgentChoice;
  readonly label: string;
  readonly repoUrl: string | null;
  readonly baseBranch: string | null;
  /** A login stood in the address, and was left out. */
  readonly hadSecret: boolean;
}

const NO_REPOSITORY = 'none';

/** Reads a flag, an answer or a proposal, in this order. A bad answer is asked for again. Throws `BatonError`, `Abandoned`. */
type Decide = <T>(
  given: string | undefined,
  question: string | null,
  proposal: string,
  take: (text: string) => T,
) => Promise<T>;

/** Flags, answers and proposals, in this order. Throws `BatonError` on what cannot be, `Abandoned` when nobody answers. */
export async function chooseStarter(options: InitOptions, around: Surroundings, io: Io): Promise<StarterChoices> {
  const [proposedTracker] = around.trackers;
  if (proposedTracker === undefined) {
    throw refused(
      'this build of Baton has no tracker for which there is a starter workflow: write WORKFLOW.md by hand',
    );
  }
  const questions = io.isTTY && !options.yes ? openPrompt(io) : null;
  const decide: Decide = async (given, question, proposal, take) => {
    if (given !== undefined || question === null || questions === null) return take(given ?? proposal);
    for (;;) {
      const answer = await questions.ask(question, proposal);
      try {
        return take(answer);
      } catch (error) {
        if (!(error instanceof BatonError) || (answer === proposal && proposal !== '')) throw error;
        io.stdout.write(`${neutralise(error.message)}\n`);
      }
    }
  };
  try {
    const { trackers, agents, git } = around;
    const trackerQuestion = trackers.length > 1 ? `Where are the issues? (${trackers.join(', ')})` : null;
    const kind = await decide(options.tracker, trackerQuestion, proposedTracker, oneOf(trackers, 'tracker'));
    const tracker = starterKind(kind);
    const project = await decideProject(tracker, options.project, git.remoteUrl, decide);
    const names = agents.map(({ name }) => name);
    const agentQuestion = agents.length > 1 ? `Which agent works on them? (${names.join(', ')})` : null;
    // The demo agent only plays: nobody wants that on the issues of a team.
    const proposedAgent = project === null ? (names[0] ?? '') : 'codex';
    const agentName = await decide(options.agent, agentQuestion, proposedAgent, oneOf(names, 'agent'));
    const labelQuestion = 'Which label must an issue have to be worked on?';
    const label = await decide(options.label, labelQuestion, 'baton', (text) => plain('label', text));
    const proposedUrl = cleanUrl(git.remoteUrl ?? (git.top === null ? NO_REPOSITORY : git.top));
    const urlQuestion = 'From which repository do agents get the code? (an address, or none)';
    const given = await decide(options.repoUrl, urlQuestion, proposedUrl.url, (text) => plain('repository', text));
    const { url, hadSecret } = cleanUrl(given);
    return {
      ...{ tracker, project, label },
      agent: agents.find(({ name }) => name === agentName) as AgentChoice,
      repoUrl: url === NO_REPOSITORY ? null : url,
      baseBranch: options.baseBranch === undefined ? null : plain('base branch', options.baseBranch),
      hadSecret: hadSecret || (proposedUrl.hadSecret && given === proposedUrl.url),
    };
  } finally {
    questions?.close();
  }
}

async function decideProject(
  { kind, name, project: wanted }: StarterKind,
  given: string | undefined,
  remoteUrl: string | null,
  decide: Decide,
): Promise<TrackerProject | null> {
  if (wanted === null) {
    if (given === undefined) return null;
    throw refused(`--project is for trackers that have projects, and ${kind} is none of them: leave it out`);
  }
  return decide(given, `Which project? (${wanted})`, guessProject(kind, remoteUrl) ?? '', (text) => {
    const found = readProject(kind, text);
    if (found !== null) return found;
    if (text.trim() === '') throw refused(`it takes a project of ${name}. Give it with --project: ${wanted}`);
    const shown = JSON.stringify(cleanUrl(text).url);
    throw refused(`${shown} names no project of ${name}. Give with --project ${wanted}`);
  });
}

function oneOf(known: readonly string[], what: string) {
  return (word: string): string => {
    if (known.includes(word)) return word;
    const near = nearestWord(word, known);
    const hint = near === null ? '' : ` Did you mean ${near}?`;
    const last = known.at(-1) ?? '';
    const list = known.length === 1 ? last : `${known.slice(0, -1).join(', ')} or ${last}`;
    throw refused(`${JSON.stringify(word)} is no ${what} that this build has: use ${list}.${hint}`);
  };
}

function plain(what: string, text: string): string {
  const trimmed = text.trim();
  if (trimmed === '') throw refused(`the ${what} is empty: give it a value, or leave it out`);
  if (neutralise(trimmed) !== trimmed) throw refused(`the ${what} holds control characters: write it in one line`);
  return trimmed;
}

function refused(message: string): BatonError {
  return new BatonError('invalid_workflow_config', message);
}

interface AgentChoice {
  readonly name: string;
  readonly command: string;
  readonly isInstalled: boolean;
}

/** What there is to choose from, and what git knows. The first of each is what we propose. */
export interface Surroundings {
  readonly git: GitFacts;
  readonly agents: readonly AgentChoice[];
  readonly trackers: readonly string[];
}

export async function readSurroundings(
  dir: string,
  io: Io,
  registry: TrackerRegistry,
  demoAgentCommand: string | undefined,
): Promise<Surroundings> {
  const [git, hasCodex] = await Promise.all([gitFacts(dir, io), isCodexInstalled(dir, io)]);
  const codex = { name: 'codex', command: 'codex app-server', isInstalled: hasCodex };
  const demo = { name: 'demo', command: demoAgentCommand ?? '', isInstalled: demoAgentCommand !== undefined };
  const agents = demo.isInstalled ? (hasCodex ? [codex, demo] : [demo, codex]) : [codex];
  const trackers = STARTER_KINDS.map(({ kind }) => kind).filter((kind) => registry.kinds.includes(kind));
  return { git, agents, trackers };
}

/** By the shell that would start it: a codex that only the terminal finds is not installed for the daemon. */
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

/** What git says about a folder, without asking any remote. */
interface GitFacts {
  /** `false`: git itself is missing. */
  readonly hasGit: boolean;
  /** Why git would not look into the folder; `null` when it did, or found nothing there. */
  readonly refusal: string | null;
  /** The top folder of the repository; `null` outside of one. */
  readonly top: string | null;
  /** Of `origin`, or of the only remote; absolute where it is a path. */
  readonly remoteUrl: string | null;
  /** What the remote calls its default branch, as far as the last fetch told. */
  readonly defaultBranch: string | null;
  /** The branch that is checked out; `null` when HEAD is detached. */
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
      allow: [],
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

/** A remote may be a path, and a relative one means nothing in a workspace. */
function absoluteUrl(url: string, top: string): string {
  const isPath = !/^[a-z][a-z0-9+.-]*:/i.test(url) && !/^[^/]+:/.test(url);
  return isPath ? resolve(top, url) : url;
}

/** An address as it may be written into a file: without what somebody put there to log in with. */
function cleanUrl(written: string): { readonly url: string; readonly hadSecret: boolean } {
  const url = written.trim();
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) return { url, hadSecret: false };
  if (!URL.canParse(url)) {
    const bare = url.replace(/^([^:]+:\/\/)[^/]*@/, '$1');
    return { url: bare, hadSecret: bare !== url };
  }
  const parsed = new URL(url);
  const isWeb = /^https?:$/.test(parsed.protocol);
  // Over ssh the user is part of the address; over HTTP it is a login, and often the token itself.
  const hadSecret = parsed.password !== '' || (isWeb && parsed.username !== '') || (isWeb && parsed.search !== '');
  if (!hadSecret) return { url, hadSecret };
  parsed.password = '';
  if (isWeb) {
    parsed.username = '';
    parsed.search = '';
  }
  return { url: parsed.href, hadSecret };
}
