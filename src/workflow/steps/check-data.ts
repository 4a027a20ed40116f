import { BatonError } from '../../domain/errors.js';
import type { Issue } from '../../domain/issue.js';
import { isMap, type Json } from '../../domain/json.js';
import { nearestWord } from '../../domain/nearest-word.js';
import { parseExpression, tokensOf } from '../../domain/steps/expression.js';
import { parseText, type Token } from '../../domain/steps/tokens.js';
import type { Position } from '../../domain/workflow.js';
import type { KeyPath } from '../positions.js';
import { meant, valueAt } from '../problems.js';
import {
  type Faults,
  lookalikes,
  nameOf,
  neverFilled,
  type PlanSource,
  type StepNode,
  shapeOf,
  type TextFault,
  textsIn,
  valuePlace,
} from './step-node.js';
import { isOfCutOutput, outputMembers, type StepKind } from './step-schema.js';

/** Keys whose texts are filled in; every other text is taken as it is. */
const FILLED: { readonly [kind in StepKind]: readonly string[] } = {
  agent: ['input'],
  external: ['input', 'env_set', 'memory'],
  capability: ['params'],
  llm: ['prompt'],
  tool: ['args'],
  code: ['source', 'stdin', 'env'],
};

/** Variables that say which program or code is run: as little as a command may they hold text of an issue. */
const DECIDES_WHAT_RUNS =
  /^(?:PATH|LD_.*|DYLD_.*|ENV|BASH_.*|SHELLOPTS|BASHOPTS|IFS|PS4|PROMPT_COMMAND|NODE_(?:OPTIONS|PATH)|PYTHON(?:STARTUP|PATH|HOME)|PERL5.*|RUBY(?:OPT|LIB)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|GIT_.*|EDITOR|PAGER|SHELL)$/;

/** Read in another way: expressions, inner steps, names with a rule of their own. */
const APART = ['id', 'when', 'kind', 'target', 'parallel', 'fan_out', 'loop', 'output_to'];

/** Holds every `${…}` and every expression against what will be there when its step runs. */
export function checkData(nodes: readonly StepNode[], source: PlanSource, faults: Faults): void {
  checkInputs(source, faults);
  const { inputs } = source.values;
  for (const { node, sight, inner } of sightOf(nodes, isMap(inputs) ? Object.keys(inputs) : [])) {
    checkStep(node, sight, faults);
    // Asked after the steps of the loop, so it sees what they see.
    checkExpression('break_when', ['loop', 'break_when'], node, (token) => tokenFault(token, inner), faults);
  }
}

function checkInputs({ values, positions }: PlanSource, faults: Faults): void {
  const inputs = values.inputs ?? null;
  if (!isMap(inputs)) return;
  for (const fault of filledFaults(inputs, ['inputs'], (token) => tokenFault(token, INPUT_SIGHT)))
    faults.add(positions.valueAt(fault.path), `inputs: ${fault.text}`, 'step_data_error');
  for (const { path, text } of lookalikes(inputs, ['inputs']))
    faults.warn(positions.valueAt(path), `inputs: ${text}`, 'unfilled_text');
}

function checkStep(node: StepNode, sight: Sight, faults: Faults): void {
  const { keys, body } = node;
  const name = nameOf(node);
  const judge = (token: Token) => tokenFault(token, sight);
  const tell = ({ path, text }: TextFault) => faults.add(valuePlace(keys, path), `${name}: ${text}`, 'step_data_error');
  checkExpression('when', ['when'], node, judge, faults);
  if (body === null) return;
  if ('kind' in body) {
    for (const [key, value] of Object.entries(keys.values)) {
      if (APART.includes(key)) continue;
      if (body.kind === 'agent' && key === 'prompt') warnOfTokens(node, value, faults);
      else if (key === 'idempotency_key' || FILLED[body.kind].includes(key)) {
        for (const fault of filledFaults(value, [key], judge)) tell({ ...fault, text: `${key}: ${fault.text}` });
        if (key === 'env_set' && isMap(value))
          for (const [name, text] of Object.entries(value).filter(([name]) => DECIDES_WHAT_RUNS.test(name)))
            for (const fault of neverFilled(text, [key, name]))
              tell({ ...fault, text: `${key}.${name}: ${fault.text}` });
        // Braces of all kinds are ordinary in code.
        if (key === 'source') warnOfIssueText(node, value, faults);
        else
          for (const { path, text } of lookalikes(value, [key]))
            faults.warn(valuePlace(keys, path), `${name}: ${key}: ${text}`, 'unfilled_text');
      } else for (const fault of neverFilled(value, [key])) tell({ ...fault, text: `${key}: ${fault.text}` });
    }
    return;
  }
  const shape = keys.values[body.shape] ?? null;
  if (isMap(shape) && shape.items !== undefined && shape.items !== null) checkItems(node, shape, judge, faults);
}

function checkExpression(
  key: string,
  path: KeyPath,
  node: StepNode,
  judge: (token: Token) => string | null,
  faults: Faults,
): void {
  const value = valueAt(node.keys.values, path);
  if (typeof value !== 'string' || value.trim() === '') return;
  const at = valuePlace(node.keys, path);
  const name = nameOf(node);
  try {
    for (const token of tokensOf(parseExpression(value))) {
      const text = judge(token);
      if (text !== null) faults.add(at, `${name}: ${key}: ${text}`, 'step_data_error');
    }
  } catch (error) {
    tellThrown(error, at, `${name}: ${key}`, faults);
  }
}

/** `items` of a fan_out or a loop: a list, or one token that becomes a list. */
function checkItems(
  node: StepNode,
  shape: { readonly [key: string]: Json },
  judge: (token: Token) => string | null,
  faults: Faults,
): void {
  const { keys, body } = node;
  if (body === null || 'kind' in body) return;
  const items = shape.items as Json;
  const path = [body.shape, 'items'];
  const name = nameOf(node);
  for (const fault of filledFaults(items, path, judge))
    faults.add(valuePlace(keys, fault.path), `${name}: items: ${fault.text}`, 'step_data_error');
  if (typeof items === 'string' && !isOneToken(items)) {
    const text = `${name}: items must be a list, or one \`\${…}\` and nothing else, which becomes one`;
    faults.add(valuePlace(keys, path), text);
  }
  const limit = shape.max_iterations;
  if (body.shape === 'loop' && Array.isArray(items) && typeof limit === 'number' && items.length > limit) {
    const text = `${name}: there are ${items.length} items, and max_iterations is ${limit}; raise it, or give the loop fewer items`;
    faults.add(valuePlace(keys, path), text, 'loop_too_long');
  }
}

/** What is wrong with the tokens of a value that is filled in. Keys of maps are not. */
function* filledFaults(value: Json, path: KeyPath, judge: (token: Token) => string | null): Generator<TextFault> {
  for (const { path: at, text, isKey } of textsIn(value, path)) {
    if (isKey) {
      for (const fault of neverFilled({ [text]: null }, [])) yield { path: at, text: fault.text };
      continue;
    }
    try {
      for (const part of parseText(text)) {
        const fault = typeof part === 'string' ? null : judge(part);
        if (fault !== null) yield { path: at, text: fault };
      }
    } catch (error) {
      if (!(error instanceof BatonError)) throw error;
      yield { path: at, text: error.message };
    }
  }
}

function isOneToken(text: string): boolean {
  try {
    const parts = parseText(text);
    return parts.length === 1 && typeof parts[0] !== 'string';
  } catch {
    // The token itself is at fault, which is told.
    return true;
  }
}

function warnOfTokens(node: StepNode, value: Json, faults: Faults): void {
  for (const { path } of neverFilled(value, ['prompt'])) {
    const text = `${nameOf(node)}: the prompt of an agent is Liquid: write {{ issue.title }}, not \${issue.title}, which stays as it is`;
    faults.warn(valuePlace(node.keys, path), text, 'unfilled_text');
  }
}

/** Issue text that becomes code is run as code. */
function warnOfIssueText(node: StepNode, value: Json, faults: Faults): void {
  if (typeof value !== 'string' || !/(?<!\$)\$\{\s*issue\b/.test(value)) return;
  const text = `${nameOf(node)}: source holds \${issue…}: whoever writes issues writes code here; give it by stdin or env instead`;
  faults.warn(valuePlace(node.keys, ['source']), text, 'issue_text_in_code');
}

function tellThrown(error: unknown, at: Position, what: string, faults: Faults): void {
  if (!(error instanceof BatonError)) throw error;
  const rule =
    error.code === 'expression_error' ? `; compare \${…}, numbers and 'texts' with == != < > <= >=, and, or, not` : '';
  faults.add(at, `${what}: ${error.message}${rule}`, error.code);
}

/** Each step with what it can name: what ran before it, and in a loop what ran in the iteration before. */
function* sightOf(
  nodes: readonly StepNode[],
  inputs: readonly string[],
): Generator<{ node: StepNode; sight: Sight; inner: Sight }> {
  const spots = new Map<string, Spot>();
  collect(nodes, [], spots);
  yield* walk(
    nodes,
    { steps: new Set(), state: new Set(), hasItem: false, hasIteration: false, around: [] },
    inputs,
    spots,
  );
}

/** Where a node is: the shapes around it, the outermost first, with the list of each that it is in. */
interface Spot {
  readonly node: StepNode;
  readonly around: readonly { readonly shape: StepNode; readonly list: number }[];
}

interface View {
  readonly steps: ReadonlySet<string>;
  readonly state: ReadonlySet<string>;
  readonly hasItem: boolean;
  readonly hasIteration: boolean;
  readonly around: Spot['around'];
}

function* walk(
  nodes: readonly StepNode[],
  start: View,
  inputs: readonly string[],
  spots: ReadonlyMap<string, Spot>,
): Generator<{ node: StepNode; sight: Sight; inner: Sight }> {
  let view = start;
  const seen = (from: View, node: StepNode): Sight => ({
    ...from,
    inputs,
    allIds: [...spots.keys()],
    hidden: (id) => whyHidden(id, node, from.around, spots),
    members: (id) => membersOf(spots.get(id)?.node),
  });
  for (const node of nodes) {
    const shape = shapeOf(node);
    const inside = (list: number): View => insideOf(node, list, view);
    yield { node, sight: seen(view, node), inner: seen(shape === 'loop' ? inside(0) : view, node) };
    for (const [index, list] of node.lists.entries()) yield* walk(list, inside(index), inputs, spots);
    view = { ...view, steps: union(view.steps, idsOf([node])), state: union(view.state, statesOf([node])) };
  }
}

/** What the steps of one list of a shape see before the first of them runs. */
function insideOf(node: StepNode, list: number, view: View): View {
  const around = [...view.around, { shape: node, list }];
  const shape = shapeOf(node);
  if (shape === 'parallel') {
    // In a loop around it, what the other branches gave last time is being replaced at this very moment.
    const others = node.lists.filter((_, index) => index !== list).flat();
    return { ...view, around, steps: without(view.steps, idsOf(others)), state: without(view.state, statesOf(others)) };
  }
  const value = shape === null ? null : (node.keys.values[shape] ?? null);
  const hasItems = isMap(value) && (value.items ?? null) !== null;
  if (shape === 'fan_out') return { ...view, around, hasItem: true };
  const body = node.lists[0] ?? [];
  return {
    around,
    steps: union(view.steps, idsOf(body)),
    state: union(view.state, statesOf(body)),
    hasItem: view.hasItem || hasItems,
    hasIteration: true,
  };
}

/** The ids that can be named after these steps: what is inside a fan_out stays there. */
function idsOf(nodes: readonly StepNode[]): string[] {
  return nodes.flatMap((node) => [
    ...(node.id === null ? [] : [node.id]),
    ...(shapeOf(node) === 'fan_out' ? [] : idsOf(node.lists.flat())),
  ]);
}

function statesOf(nodes: readonly StepNode[]): string[] {
  return nodes.flatMap((node) => {
    const name = node.keys.values.output_to;
    return [
      ...(typeof name === 'string' ? [name] : []),
      ...(shapeOf(node) === 'fan_out' ? [] : statesOf(node.lists.flat())),
    ];
  });
}

function whyHidden(
  id: string,
  from: StepNode,
  around: Spot['around'],
  spots: ReadonlyMap<string, Spot>,
): string | null {
  const spot = spots.get(id);
  if (spot === undefined) return null;
  if (spot.node === from) return `${id} is this step itself, which has no output yet`;
  if (around.some(({ shape }) => shape === spot.node)) return `${id} is around this step, and has no output yet`;
  const apart = spot.around.findIndex(
    ({ shape, list }, level) => around[level]?.shape !== shape || around[level]?.list !== list,
  );
  const parting = apart === -1 ? undefined : spot.around[apart];
  if (parting !== undefined && around[apart]?.shape === parting.shape)
    return `${id} runs at the same time, in another branch of ${nameOf(parting.shape)}`;
  const fanOut = spot.around.slice(Math.max(apart, 0)).find(({ shape }) => shapeOf(shape) === 'fan_out')?.shape;
  if (apart !== -1 && fanOut !== undefined)
    return `${id} is inside the fan_out ${nameOf(fanOut)}; the results of all items are \${steps.${fanOut.id}.output}`;
  return `${id} comes later`;
}

function collect(nodes: readonly StepNode[], around: Spot['around'], spots: Map<string, Spot>): void {
  for (const node of nodes) {
    if (node.id !== null && !spots.has(node.id)) spots.set(node.id, { node, around });
    for (const [list, inner] of node.lists.entries()) collect(inner, [...around, { shape: node, list }], spots);
  }
}

function membersOf(node: StepNode | undefined): readonly string[] | null {
  const body = node?.body ?? null;
  if (node === undefined || body === null) return null;
  return outputMembers('kind' in body ? body.kind : body.shape, node.backend);
}

function union(one: ReadonlySet<string>, more: readonly string[]): ReadonlySet<string> {
  return new Set([...one, ...more]);
}

function without(one: ReadonlySet<string>, less: readonly string[]): ReadonlySet<string> {
  return new Set([...one].filter((name) => !less.includes(name)));
}

/** What a token at one place of the plan can name. */
interface Sight {
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
const INPUT_SIGHT: Sight = {
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
function tokenFault({ path, text }: Token, sight: Sight): string | null {
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
