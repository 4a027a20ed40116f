import { BatonError } from '../../domain/errors.js';
import { stateKey } from '../../domain/issue.js';
import type { IssueBatch } from '../../domain/ports.js';
import { inParallel } from '../in-parallel.js';
import { someOf } from '../normalise-batch.js';
import { completeIssues, type Mapped, type ReadOrder } from './complete-issues.js';
import { AT_ONCE, GITHUB } from './api.js';
import { type GithubIssue, readGithubIssue } from './issue.js';
import { CLOSED } from './own-states.js';
import { readList } from './read-list.js';
import { type Mapping, stateRivalry, toIssue } from './to-issue.js';

/** `states`: in the spelling of `LabelStates`, at least one. */
export async function readByStates(states: readonly string[], order: ReadOrder): Promise<IssueBatch> {
  const { api, reading, mapping } = order;
  const wanted = new Set(states.map(stateKey));
  const mapped = await readList(api, reading, {
    segments: ['issues'],
    query: { ...filterFor(states, order), sort: 'created', direction: 'asc' },
    parse: readGithubIssue,
    read: (github) => mapWanted(github, wanted, mapping),
    idOf: ({ github: { number } }) => (number === null ? null : String(number)),
  });
  return batchOf(mapped, order);
}

export async function readByNumbers(numbers: readonly number[], order: ReadOrder): Promise<IssueBatch> {
  const { reading, repository, mapping } = order;
  const answers = await inParallel(numbers, AT_ONCE, (number) => readOne(number, order));
  if (answers.includes(null)) await repository.proveGone(reading);
  const mapped = answers.flatMap((github) =>
    github === null || github.isPullRequest ? [] : [{ github, issue: toIssue(github, mapping), problem: null }],
  );
  return batchOf(mapped, order);
}

/** `null`: deleted, or moved to another repository, which is what a redirect says. */
export async function readOne(
  number: number,
  { api, reading }: Pick<ReadOrder, 'api' | 'reading'>,
): Promise<GithubIssue | null> {
  const path = api.repoPath('issues', number);
  const { status, body } = await reading.get(path, { isConditional: true, accept: [301, 404, 410] });
  if (status >= 300) return null;
  const found = readGithubIssue(body);
  if (found.number === number) return found;
  const message = `${GITHUB} answered a question about issue ${number} with something else. Check tracker.provider.endpoint.`;
  throw new BatonError('tracker_response', message);
}

/** What GitHub need not send. A comma would end a label's name, and a blank one is no label: no issue carries it, which is for the core to say. */
function filterFor(
  states: readonly string[],
  { mapping, requiredLabels }: ReadOrder,
): { readonly [name: string]: string } {
  const isClosedWanted = states.includes(CLOSED);
  const state = isClosedWanted ? (states.length === 1 ? 'closed' : 'all') : 'open';
  const [only] = states.length === 1 ? states.flatMap((name) => mapping.states.labelOf(name) ?? []) : [];
  const labels = [...requiredLabels, ...(only === undefined ? [] : [only])].filter(
    (label) => label !== '' && !label.includes(','),
  );
  return { state, ...(labels.length === 0 ? {} : { labels: labels.join(',') }) };
}

/** Neither an issue nor a problem: a pull request, or in another state. */
function mapWanted(github: GithubIssue, wanted: ReadonlySet<string>, mapping: Mapping): Mapped {
  const { isPullRequest, isOpen, labels } = github;
  const isElsewhere = isOpen !== null && !wanted.has(stateKey(mapping.states.of(isOpen, labels).state));
  if (isPullRequest || isElsewhere) return { github, issue: null, problem: null };
  try {
    return { github, issue: toIssue(github, mapping), problem: null };
  } catch (error) {
    if (!(error instanceof BatonError)) throw error;
    return { github, issue: null, problem: error.message };
  }
}

async function batchOf(mapped: readonly Mapped[], order: ReadOrder): Promise<IssueBatch> {
  const { reading, mapping } = order;
  const problems = mapped.flatMap(({ github, issue, problem }) =>
    issue === null ? (problem ?? []) : (stateRivalry(github, mapping.states) ?? []),
  );
  return { issues: await completeIssues(mapped, order), unknown: [], problems: someOf(problems), ...reading.rateLimit };
}
