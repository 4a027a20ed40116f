import { BatonError } from '../../domain/errors.js';
import { nearestWord } from '../../domain/nearest-word.js';
import { neutralise } from '../../text/neutralise.js';
import type { Io } from '../io.js';
import { openPrompt } from '../prompt.js';
import { guessProject, readProject, type TrackerProject } from './project-address.js';
import { type StarterKind, starterKind } from './starters.js';
import type { AgentChoice, Surroundings } from './surroundings.js';

/** The flags of init that answer its questions. */
export interface StarterFlags {
  readonly tracker?: string | undefined;
  /** The address of a project of the tracker, or its name there. */
  readonly project?: string | undefined;
  readonly agent?: string | undefined;
  readonly label?: string | undefined;
  /** `none`: no repository. */
  readonly repoUrl?: string | undefined;
  readonly baseBranch?: string | undefined;
  /** Take every proposal without asking. */
  readonly yes: boolean;
}

export interface StarterChoices {
  readonly tracker: StarterKind;
  /** Null when the tracker has only one board. */
  readonly project: TrackerProject | null;
  readonly agent: AgentChoice;
  readonly label: string;
  readonly repoUrl: string | null;
  readonly baseBranch: string | null;
  /** The address contained a login, which is left out. */
  readonly hadSecret: boolean;
}

const NO_REPOSITORY = 'none';

/** Takes the flag, else the answer, else the proposal. Asks again after an invalid answer. Throws `BatonError`, `PromptClosed`. */
type Choose = <T>(
  given: string | undefined,
  question: string | null,
  proposal: string,
  take: (text: string) => T,
) => Promise<T>;

/** Takes each choice from its flag, the answer of the user or a proposal. Throws `BatonError`, `PromptClosed`. */
export async function chooseStarter(flags: StarterFlags, around: Surroundings, io: Io): Promise<StarterChoices> {
  const [proposedTracker] = around.trackers;
  if (proposedTracker === undefined) {
    throw refused('this build of Baton has no tracker with a starter workflow: write WORKFLOW.md by hand');
  }
  const questions = io.isTTY && !flags.yes ? openPrompt(io) : null;
  const choose: Choose = async (given, question, proposal, take) => {
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
    const kind = await choose(flags.tracker, trackerQuestion, proposedTracker, oneOf(trackers, 'tracker'));
    const tracker = starterKind(kind);
    const project = await chooseProject(tracker, flags.project, git.remoteUrl, choose);
    const names = agents.map(({ name }) => name);
    const agentQuestion = agents.length > 1 ? `Which agent works on them? (${names.join(', ')})` : null;
    // The demo agent does no real work, so it is not proposed for the issues of a team.
    const proposedAgent = project === null ? (names[0] ?? '') : 'codex';
    const agentName = await choose(flags.agent, agentQuestion, proposedAgent, oneOf(names, 'agent'));
    const labelQuestion = 'Which label must an issue have to be started?';
    const label = await choose(flags.label, labelQuestion, 'baton', (text) => plain('label', text));
    const proposedUrl = cleanUrl(git.remoteUrl ?? (git.top === null ? NO_REPOSITORY : git.top));
    const urlQuestion = 'Which repository is cloned into each workspace? (an address, or none)';
    const given = await choose(flags.repoUrl, urlQuestion, proposedUrl.url, (text) => plain('repository', text));
    const { url, hadSecret } = cleanUrl(given);
    return {
      ...{ tracker, project, label },
      agent: agents.find(({ name }) => name === agentName) as AgentChoice,
      repoUrl: url === NO_REPOSITORY ? null : url,
      baseBranch: flags.baseBranch === undefined ? null : plain('base branch', flags.baseBranch),
      hadSecret: hadSecret || (proposedUrl.hadSecret && given === proposedUrl.url),
    };
  } finally {
    questions?.close();
  }
}

async function chooseProject(
  { kind, name, project: wanted }: StarterKind,
  given: string | undefined,
  remoteUrl: string | null,
  choose: Choose,
): Promise<TrackerProject | null> {
  if (wanted === null) {
    if (given === undefined) return null;
    throw refused(`--project is for trackers with projects; ${kind} has none: leave it out`);
  }
  return choose(given, `Which project? (${wanted})`, guessProject(kind, remoteUrl) ?? '', (text) => {
    const found = readProject(kind, text);
    if (found !== null) return found;
    if (text.trim() === '') throw refused(`the project of ${name} is missing. Give it with --project: ${wanted}`);
    const shown = JSON.stringify(cleanUrl(text).url);
    throw refused(`${shown} is no project of ${name}. Give with --project ${wanted}`);
  });
}

function oneOf(known: readonly string[], what: string) {
  return (word: string): string => {
    if (known.includes(word)) return word;
    const near = nearestWord(word, known);
    const hint = near === null ? '' : ` Did you mean ${near}?`;
    const last = known.at(-1) ?? '';
    const list = known.length === 1 ? last : `${known.slice(0, -1).join(', ')} or ${last}`;
    throw refused(`${JSON.stringify(word)} is no ${what} of this build: use ${list}.${hint}`);
  };
}

function plain(what: string, text: string): string {
  const trimmed = text.trim();
  if (trimmed === '') throw refused(`the ${what} is empty: give it a value, or leave it out`);
  if (neutralise(trimmed) !== trimmed) throw refused(`the ${what} contains control characters: write it in one line`);
  return trimmed;
}

function refused(message: string): BatonError {
  return new BatonError('invalid_workflow_config', message);
}

/** An address without its login, as it may be written into a file. */
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
