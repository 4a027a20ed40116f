import type { Faults } from './step-node.js';
import { allNodes, nameOf, type StepNode, shapeOf, textOf, valuePosition } from './step-node.js';

/** Checks that need the whole tree: unique ids, sessions, and steps that must not run at the same time. */
export function checkShapes(nodes: readonly StepNode[], faults: Faults): void {
  checkNames(nodes, faults);
  checkSessions(nodes, null, faults);
  checkAgents(nodes, null, faults);
  for (const node of allNodes(nodes)) {
    if (shapeOf(node) === 'parallel') {
      checkSiblings(node, faults);
      checkJoin(node, faults);
    }
  }
}

function checkNames(nodes: readonly StepNode[], faults: Faults): void {
  const seen = new Map<string, StepNode>();
  for (const node of allNodes(nodes)) {
    if (node.id === null) continue;
    const first = seen.get(node.id);
    if (first === undefined) {
      seen.set(node.id, node);
      continue;
    }
    const { line } = valuePosition(first.keys);
    const text = `${nameOf(node)}: the step on line ${line} has the same id; change one of the two`;
    faults.add(valuePosition(node.keys, ['id']), text, 'JobValidation');
  }
}

/** A session is a conversation that a service keeps. `fanOut` is the innermost fan_out around these steps. */
function checkSessions(nodes: readonly StepNode[], fanOut: StepNode | null, faults: Faults): void {
  for (const node of nodes) {
    const session = textOf(node.keys, 'session');
    if (session !== null && node.backend !== null) {
      const at = valuePosition(node.keys, ['session']);
      const what = `${nameOf(node)}: session ${JSON.stringify(session)}`;
      if (node.backend === 'cli') {
        const text = `${what} needs backend http, but this step runs on cli, which keeps no conversation between steps; set backend: http, or remove session`;
        faults.add(at, text, 'JobValidation');
      }
      if (fanOut !== null) {
        const text = `${what} is inside the fan_out ${nameOf(fanOut)}, whose workers would share one conversation; remove session, or use a loop with items`;
        faults.add(at, text, 'JobValidation');
      }
    }
    for (const list of node.lists) checkSessions(list, shapeOf(node) === 'fan_out' ? node : fanOut, faults);
  }
}

/** At most one coding agent may work in the workspace at a time. `fanOut` has several workers. */
function checkAgents(nodes: readonly StepNode[], fanOut: StepNode | null, faults: Faults): void {
  for (const node of nodes) {
    if (node.backend === 'cli' && fanOut !== null) {
      const text = `${nameOf(node)}: a coding agent (backend cli) is inside the fan_out ${nameOf(fanOut)}, so several agents would work in one workspace at the same time; set max_workers: 1`;
      faults.add(valuePosition(node.keys), text, 'JobValidation');
    }
    const hasWorkers = shapeOf(node) === 'fan_out' && workersOf(node) !== 1;
    for (const list of node.lists) checkAgents(list, hasWorkers ? node : fanOut, faults);
  }
}

/** Branches of a parallel step must use different sessions, and at most one branch a coding agent. */
function checkSiblings(parallel: StepNode, faults: Faults): void {
  const sessions = new Map<string, { branch: number; node: StepNode }>();
  let agent: { branch: number; node: StepNode } | null = null;
  for (const [branch, list] of parallel.lists.entries()) {
    for (const node of allNodes(list)) {
      if (node.backend === 'cli') {
        agent ??= { branch, node };
        if (agent.branch !== branch) {
          const text = `${nameOf(node)}: a coding agent (backend cli) runs at the same time as ${nameOf(agent.node)}, in one workspace; put them into one branch of ${nameOf(parallel)}, one after the other`;
          faults.add(valuePosition(node.keys), text, 'JobValidation');
        }
      }
      const session = node.backend === null ? null : textOf(node.keys, 'session');
      if (session === null) continue;
      const first = sessions.get(session) ?? { branch, node };
      sessions.set(session, first);
      if (first.branch === branch) continue;
      const text = `${nameOf(node)}: session ${JSON.stringify(session)} is used by ${nameOf(first.node)} at the same time, in another branch of ${nameOf(parallel)}; give one of them another session`;
      faults.add(valuePosition(node.keys, ['session']), text, 'JobValidation');
    }
  }
}

function checkJoin(parallel: StepNode, faults: Faults): void {
  const { join = null } = parallel.keys.values;
  const branches = parallel.lists.length;
  if (typeof join !== 'number' || join <= branches) return;
  const text = `${nameOf(parallel)}: join is ${join}, but the number of branches is ${branches}`;
  faults.add(valuePosition(parallel.keys, ['join']), text);
}

function workersOf({ keys }: StepNode): number {
  const { max_workers: workers = null } = keys.values.fan_out as { readonly max_workers?: unknown };
  return workers === null ? 4 : Number(workers);
}
