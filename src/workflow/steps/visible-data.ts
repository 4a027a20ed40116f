import { isMap } from '../problems.js';
import { outputMembers } from './output-members.js';
import { nameOf, type StepNode, shapeOf } from './step-node.js';
import type { Sight } from './token-fault.js';

/** Each step with what it can name: what ran before it, and in a loop what ran in the iteration before. */
export function* sightOf(
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
