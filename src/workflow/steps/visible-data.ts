import type { Issue } from '../../domain/issue.js';
import { isMap } from '../../domain/json.js';
import { nearestWord } from '../../domain/nearest-word.js';
import type { Token } from '../../domain/steps/tokens.js';
import { suggestName } from '../problems.js';
import { nameOf, type StepNode, shapeOf } from './step-node.js';
import { isOfCutOutput, outputMembers } from './step-schema.js';

/** Each step with the data that it can refer to: of earlier steps, and in a loop of the previous iteration. */
export function* visibleData(
  nodes: readonly StepNode[],
  inputs: readonly string[],
): Generator<{ node: StepNode; data: VisibleData; inner: VisibleData }> {
  const locations = new Map<string, NodeLocation>();
  collect(nodes, [], locations);
  yield* walk(
    nodes,
    { steps: new Set(), state: new Set(), hasItem: false, hasIteration: false, around: [] },
    inputs,
    locations,
  );
}

/** The shapes around a node, outermost first, with the list of each that contains it. */
interface NodeLocation {
  readonly node: StepNode;
  readonly around: readonly { readonly shape: StepNode; readonly list: number }[];
}

interface Visibility {
  readonly steps: ReadonlySet<string>;
  readonly state: ReadonlySet<string>;
  readonly hasItem: boolean;
  readonly hasIteration: boolean;
  readonly around: NodeLocation['around'];
}

function* walk(
  nodes: readonly StepNode[],
  start: Visibility,
  inputs: readonly string[],
  locations: ReadonlyMap<string, NodeLocation>,
): Generator<{ node: StepNode; data: VisibleData; inner: VisibleData }> {
  let view = start;
  const seen = (from: Visibility, node: StepNode): VisibleData => ({
    ...from,
    inputs,
    allIds: [...locations.keys()],
    hidden: (id) => hiddenReason(id, node, from.around, locations),
    members: (id) => membersOf(locations.get(id)?.node),
  });
  for (const node of nodes) {
    const shape = shapeOf(node);
    const inside = (list: number): Visibility => insideOf(node, list, view);
    yield { node, data: seen(view, node), inner: seen(shape === 'loop' ? inside(0) : view, node) };
    for (const [index, list] of node.lists.entries()) yield* walk(list, inside(index), inputs, locations);
    view = { ...view, steps: union(view.steps, idsOf([node])), state: union(view.state, statesOf([node])) };
  }
}

/** What is visible to the first step of a list of a shape. */
function insideOf(node: StepNode, list: number, view: Visibility): Visibility {
  const around = [...view.around, { shape: node, list }];
  const shape = shapeOf(node);
  if (shape === 'parallel') {
    // Inside a loop, the other branches are replacing their outputs of the previous iteration.
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

/** The ids that are visible after these steps. Steps inside a fan_out are not. */
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

function hiddenReason(
  id: string,
  from: StepNode,
  around: NodeLocation['around'],
  locations: ReadonlyMap<string, NodeLocation>,
): string | null {
  const location = locations.get(id);
  if (location === undefined) return null;
  if (location.node === from) return `${id} is this step itself, which has no output yet`;
  if (around.some(({ shape }) => shape === location.node)) return `${id} is around this step, and has no output yet`;
  const apart = location.around.findIndex(
    ({ shape, list }, level) => around[level]?.shape !== shape || around[level]?.list !== list,
  );
  const parting = apart === -1 ? undefined : location.around[apart];
  if (parting !== undefined && around[apart]?.shape === parting.shape)
    return `${id} runs at the same time, in another branch of ${nameOf(parting.shape)}`;
  const fanOut = location.around.slice(Math.max(apart, 0)).find(({ shape }) => shapeOf(shape) === 'fan_out')?.shape;
  if (apart !== -1 && fanOut !== undefined)
    return `${id} is inside the fan_out ${nameOf(fanOut)}; the results of all items are \${steps.${fanOut.id}.output}`;
  return `${id} comes later`;
}

function collect(
  nodes: readonly StepNode[],
  around: NodeLocation['around'],
  locations: Map<string, NodeLocation>,
): void {
  for (const node of nodes) {
    if (node.id !== null && !locations.has(node.id)) locations.set(node.id, { node, around });
    for (const [list, inner] of node.lists.entries()) collect(inner, [...around, { shape: node, list }], locations);
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

/** The data that tokens at one place of the plan can refer to. */
export interface VisibleData {
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

/** `inputs` are rendered before the first step. */
export const INPUT_DATA: VisibleData = {
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

/** Why a token refers to missing data; null when it does not, as far as is known before a run. */
export function tokenFault({ path, text }: Token, data: VisibleData): string | null {
  const [root, name] = path;
  const oneOf = (known: readonly string[], what: string) =>
    name === undefined || known.includes(name) ? null : `${text}: ${what} ${name}; ${suggestName(name, known)}`;
  if (data.isForInputs && !['issue', 'attempt', 'run'].includes(root))
    return `${text}: inputs are rendered before the first step, from issue, attempt and run only`;
  switch (root) {
    case 'issue':
      return oneOf(ISSUE_FIELDS, 'an issue has no');
    case 'run':
      return oneOf(RUN_FIELDS, 'a run has no');
    case 'attempt':
      return name === undefined ? null : `${text}: attempt is a number and has no ${name}`;
    case 'inputs':
      return oneOf(data.inputs, 'inputs has no');
    case 'state':
      return oneOf([...data.state], 'no earlier step has output_to:');
    case 'item':
      return data.hasItem ? null : `${text}: an item exists only inside a fan_out or a loop with items`;
    case 'iteration':
      if (!data.hasIteration) return `${text}: an iteration exists only inside a loop`;
      return name === undefined ? null : `${text}: iteration is a number and has no ${name}`;
    default:
      return stepFault({ path, text }, data);
  }
}

function stepFault({ path, text }: Token, data: VisibleData): string | null {
  const [, id, part, member] = path;
  if (id === undefined) return `${text}: name a step: \${steps.<id>.output}`;
  if (!data.steps.has(id)) {
    const why = data.hidden(id);
    if (why !== null) return `${text}: ${why}`;
    const near = nearestWord(id, data.allIds);
    return `${text}: there is no step ${id}${near === null ? '' : `; did you mean ${near}?`}`;
  }
  if (part === 'output' && member !== undefined && !isOfCutOutput(member)) {
    const members = data.members(id);
    if (members === null || members.includes(member)) return null;
    return `${text}: the output of ${id} has no ${member}; ${suggestName(member, members)}`;
  }
  if (part === 'output' || part === 'context') return null;
  return `${text}: a step has output, and a capability also context: write \${steps.${id}.output}`;
}
