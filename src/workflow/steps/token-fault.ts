import type { Issue } from '../../domain/issue.js';
import { nearestWord } from '../../text/nearest-word.js';
import type { Token } from '../../domain/steps/tokens.js';
import { meant } from '../problems.js';
import { isOfCutOutput } from './output-members.js';

/** What a token at one place of the plan can name. */
export interface Sight {
  readonly inputs: readonly string[];
  readonly steps: ReadonlySet<string>;
  readonly state: ReadonlySet<string>;
  readonly hasItem: boolean;
  readonly hasIteration: boolean;
  /** Why a step of the plan that cannot be named from here cannot be; `null`: there is no such step. */
  readonly hidden: (id: string) => string | null;
  readonly allIds: readonly string[];
  /** What the output of a step has; `null`: anything. */
  readonly members: (id: string) => readonly string[] | null;
  readonly isForInputs?: boolean;
}

/** `inputs` are made before any step. */
export const INPUT_SIGHT: Sight = {
  inputs: [],
  steps: new Set(),
  state: new Set(),
  hasItem: false,
  hasIteration: false,
  hidden: () => null,
  allIds: [],
  members: () => null,
  isForInputs: true,
};

const ISSUE: { readonly [field in keyof Issue]: true } = {
  id: true,
  identifier: true,
  title: true,
  description: true,
  priority: true,
  state: true,
  branch_name: true,
  url: true,
  assignee_id: true,
  author: true,
  labels: true,
  blocked_by: true,
  comments: true,
  dispatchable: true,
  held_back: true,
  native_ref: true,
  created_at: true,
  updated_at: true,
};
const ISSUE_FIELDS = Object.keys(ISSUE);
const RUN_FIELDS = ['id', 'number', 'reason', 'workspace', 'step_index'];

/** Why a token names nothing, in words; `null`: it does, as far as this can be told before a run. */
export function tokenFault({ path, text }: Token, sight: Sight): string | null {
  const [root, name] = path;
  const oneOf = (known: readonly string[], what: string) =>
    name === undefined || known.includes(name) ? null : `${text}: ${what} ${name}; ${meant(name, known)}`;
  if (sight.isForInputs && !['issue', 'attempt', 'run'].includes(root))
    return `${text}: inputs are made before the first step, from issue, attempt and run only`;
  switch (root) {
    case 'issue':
      return oneOf(ISSUE_FIELDS, 'an issue has no');
    case 'run':
      return oneOf(RUN_FIELDS, 'a run has no');
    case 'attempt':
      return name === undefined ? null : `${text}: attempt is a number and has no ${name}`;
    case 'inputs':
      return oneOf(sight.inputs, 'inputs has no');
    case 'state':
      return oneOf([...sight.state], 'no earlier step has output_to:');
    case 'item':
      return sight.hasItem ? null : `${text}: there is an item only inside a fan_out, or a loop with items`;
    case 'iteration':
      if (!sight.hasIteration) return `${text}: there is an iteration only inside a loop`;
      return name === undefined ? null : `${text}: iteration is a number and has no ${name}`;
    default:
      return stepFault({ path, text }, sight);
  }
}

function stepFault({ path, text }: Token, sight: Sight): string | null {
  const [, id, part, member] = path;
  if (id === undefined) return `${text}: name a step: \${steps.<id>.output}`;
  if (!sight.steps.has(id)) {
    const why = sight.hidden(id);
    if (why !== null) return `${text}: ${why}`;
    const near = nearestWord(id, sight.allIds);
    return `${text}: there is no step ${id}${near === null ? '' : `; did you mean ${near}?`}`;
  }
  if (part === 'output' && member !== undefined && !isOfCutOutput(member)) {
    const members = sight.members(id);
    if (members === null || members.includes(member)) return null;
    return `${text}: the output of ${id} has no ${member}; ${meant(member, members)}`;
  }
  if (part === 'output' || part === 'context') return null;
  return `${text}: of a step there is output, and the context of a capability: write \${steps.${id}.output}`;
}
