import type { Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { type Fields, fieldsOf, textOf } from '../../domain/fields.js';
import { type Issue, stateKey } from '../../domain/issue.js';
import type { IssueBatch } from '../../domain/ports.js';
import { normaliseList } from '../normalise-batch.js';
import { normaliseIssue, type RawIssue } from '../normalise-issue.js';
import { shown } from '../shown-words.js';
import { authorIn, commentsIn } from './trusted-writers.js';

/** Each is logged and shown: nobody reads more. */
const MAX_PROBLEMS = 100;

export interface ReadPlace {
  readonly trust: Trust | null;
  mask(text: string): string;
}

export interface Description {
  readonly user: string | null;
  readonly target: string | null;
  /** Empty: not told. */
  readonly states: readonly string[];
  /** `null`: not told. */
  readonly methods: readonly string[] | null;
}

/** The batch in the answer to `issues_by_states`. What was not asked for is left out and told. */
export async function issuesInStates(result: Fields, states: readonly string[], place: ReadPlace): Promise<IssueBatch> {
  const { issues, problems } = await normaliseList(recordsIn(result, 'issues_by_states', place.trust));
  const wanted = new Set(states.map(stateKey));
  const isWanted = ({ state }: Issue) => wanted.has(stateKey(state));
  const strays = issues
    .filter((issue) => !isWanted(issue))
    .map(
      ({ identifier, state }) =>
        `The tracker program sent ${shown(identifier, place.mask)}, which is in "${shown(state, place.mask)}" and was not asked for.`,
    );
  const told = [...strays, ...problemsIn(result, 'issues_by_states', place)];
  return { issues: unique(issues.filter(isWanted)), unknown: [], problems: [...problems, ...someOf(told)] };
}

/** The batch in the answer to `issues_by_ids`. A record that is no issue spoils it: who is absent is gone. */
export function issuesWithIds(result: Fields, ids: readonly string[], place: ReadPlace): IssueBatch {
  const asked = new Set(ids);
  const all = recordsIn(result, 'issues_by_ids', place.trust).map(normaliseIssue);
  const issues = unique(all.filter(({ id, identifier }) => asked.has(id) || asked.has(identifier)));
  const found = new Set(issues.flatMap(({ id, identifier }) => [id, identifier]));
  const unknown = textsIn(result, 'unknown', 'issues_by_ids').filter((id) => asked.has(id) && !found.has(id));
  const problems = someOf(problemsIn(result, 'issues_by_ids', place));
  return { issues, unknown: [...new Set(unknown)], problems };
}

export function commentsOf(result: Fields, trust: Trust | null): Issue['comments'] {
  return commentsIn(requiredList(result, 'comments', 'comments'), trust);
}

export function descriptionIn(result: Fields): Description {
  return {
    user: textOf(result.user),
    target: textOf(result.target),
    states: textsIn(result, 'states', 'describe'),
    methods: isAbsent(result.methods) ? null : textsIn(result, 'methods', 'describe'),
  };
}

function recordsIn(result: Fields, method: string, trust: Trust | null): RawIssue[] {
  return requiredList(result, 'issues', method).map((value) => {
    const fields = fieldsOf(value);
    const comments = Array.isArray(fields.comments) ? commentsIn(fields.comments, trust) : [];
    return { ...fields, author: authorIn(fields.author, trust), comments };
  });
}

function problemsIn(result: Fields, method: string, { mask }: ReadPlace): string[] {
  return textsIn(result, 'problems', method).map((text) => shown(text, mask));
}

function requiredList(result: Fields, key: string, method: string): readonly unknown[] {
  const value = result[key];
  if (Array.isArray(value)) return value;
  const message = `The tracker program answered ${method} without a list \`${key}\` in its result. An empty board is an empty list.`;
  throw new BatonError('tracker_response', message);
}

/** Ids may be numbers in the tracker. */
function textsIn(result: Fields, key: string, method: string): string[] {
  const value = isAbsent(result[key]) ? [] : result[key];
  const isText = (item: unknown) => typeof item === 'string' || Number.isSafeInteger(item);
  if (Array.isArray(value) && value.every(isText)) return value.map(String);
  const message = `The tracker program answered ${method} with something as \`${key}\` that is no list of texts. Correct it, or leave it out.`;
  throw new BatonError('tracker_response', message);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

/** Of an issue that was sent twice the last one counts. */
function unique(issues: readonly Issue[]): Issue[] {
  return [...new Map(issues.map((issue) => [issue.id, issue])).values()];
}

function someOf(problems: readonly string[]): readonly string[] {
  const rest = problems.length - MAX_PROBLEMS;
  return rest <= 0 ? problems : [...problems.slice(0, MAX_PROBLEMS), `… and ${rest} more of the kind.`];
}
