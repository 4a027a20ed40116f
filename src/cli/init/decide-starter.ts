import { BatonError } from '../../domain/errors.js';
import { nearestWord } from '../../domain/nearest-word.js';
import { neutralise } from '../../domain/neutralise.js';
import type { InitOptions } from '../init.js';
import type { Io } from '../io.js';
import { openQuestions } from './ask.js';
import type { AgentChoice, Surroundings } from './choices.js';
import { cleanUrl } from './clean-url.js';

export interface Decisions {
  readonly tracker: string;
  readonly agent: AgentChoice;
  readonly label: string;
  readonly repoUrl: string | null;
  readonly baseBranch: string | null;
  /** A login stood in the address, and was left out. */
  readonly hadSecret: boolean;
}

const NO_REPOSITORY = 'none';

/** Flags, answers and proposals, in this order. Throws `BatonError` on what cannot be, `Abandoned` when nobody answers. */
export async function decideStarter(options: InitOptions, around: Surroundings, io: Io): Promise<Decisions> {
  const [proposedTracker] = around.trackers;
  if (proposedTracker === undefined) {
    throw refused(
      'this build of Baton has no tracker for which there is a starter workflow: write WORKFLOW.md by hand',
    );
  }
  const questions = io.isTTY && !options.yes ? openQuestions(io) : null;
  const decide = async (given: string | undefined, question: string | null, proposal: string) =>
    given ?? (question === null ? null : await questions?.ask(question, proposal)) ?? proposal;
  try {
    const { trackers, agents, git } = around;
    const trackerQuestion = trackers.length > 1 ? `Where are the issues? (${trackers.join(', ')})` : null;
    const tracker = oneOf(trackers, await decide(options.tracker, trackerQuestion, proposedTracker), 'tracker');
    const names = agents.map(({ name }) => name);
    const agentQuestion = agents.length > 1 ? `Which agent works on them? (${names.join(', ')})` : null;
    const agentName = oneOf(names, await decide(options.agent, agentQuestion, names[0] ?? ''), 'agent');
    const label = await decide(options.label, 'Which label must an issue have to be worked on?', 'baton');
    const proposedUrl = cleanUrl(git.remoteUrl ?? (git.top === null ? NO_REPOSITORY : git.top));
    const urlQuestion = 'From which repository do agents get the code? (an address, or none)';
    const given = await decide(options.repoUrl, urlQuestion, proposedUrl.url);
    const { url, hadSecret } = cleanUrl(given);
    return {
      tracker,
      agent: agents.find(({ name }) => name === agentName) as AgentChoice,
      label: plain('label', label),
      repoUrl: url === NO_REPOSITORY ? null : plain('repository', url),
      baseBranch: options.baseBranch === undefined ? null : plain('base branch', options.baseBranch),
      hadSecret: hadSecret || (proposedUrl.hadSecret && given === proposedUrl.url),
    };
  } finally {
    questions?.close();
  }
}

function oneOf(known: readonly string[], word: string, what: string): string {
  if (known.includes(word)) return word;
  const near = nearestWord(word, known);
  const hint = near === null ? '' : ` Did you mean ${near}?`;
  throw refused(`${JSON.stringify(word)} is no ${what} that this build has: use ${known.join(' or ')}.${hint}`);
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
