import { BatonError } from '../../domain/errors.js';
import { nearestWord } from '../../text/nearest-word.js';
import { neutralise } from '../../text/neutralise.js';
import type { InitOptions } from '../init.js';
import type { Io } from '../io.js';
import { openQuestions } from '../ask.js';
import type { AgentChoice, Surroundings } from './choices.js';
import { cleanUrl } from './clean-url.js';
import { guessProject, type ProjectPlace, readProject } from './project-address.js';
import { type StarterKind, starterKind } from './starters.js';

export interface Decisions {
  readonly tracker: StarterKind;
  /** `null`: the tracker has one board only. */
  readonly project: ProjectPlace | null;
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
export async function decideStarter(options: InitOptions, around: Surroundings, io: Io): Promise<Decisions> {
  const [proposedTracker] = around.trackers;
  if (proposedTracker === undefined) {
    throw refused(
      'this build of Baton has no tracker for which there is a starter workflow: write WORKFLOW.md by hand',
    );
  }
  const questions = io.isTTY && !options.yes ? openQuestions(io) : null;
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
): Promise<ProjectPlace | null> {
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
