import type { Backend, ServiceName } from '../../domain/steps/plan.js';
import { meant } from '../problems.js';
import type { Faults } from './faults.js';
import type { Executors } from './executor-definitions.js';
import type { Services } from './services.js';
import { allNodes, nameOf, type StepNode, textOf, valuePlace } from './step-node.js';
import type { StepKind } from './step-schema.js';

const SERVICES: { readonly [kind in Exclude<StepKind, 'agent'>]: ServiceName | null } = {
  llm: 'gateway',
  tool: 'tools',
  code: 'sandbox',
  external: null,
  capability: null,
};

/** The service that runs a kind of step; `null`: none does. */
export function serviceOf(kind: StepKind, backend: Backend | null): ServiceName | null {
  if (kind === 'agent') return backend === 'http' ? 'agents' : null;
  return SERVICES[kind];
}

/** Is there something behind every step that can run it? Nothing falls back to anything else. */
export function checkWiring(
  nodes: readonly StepNode[],
  executors: Executors,
  services: Services,
  why: string,
  faults: Faults,
): void {
  const told = new Set<ServiceName>();
  for (const node of allNodes(nodes)) {
    if (node.body === null || !('kind' in node.body)) continue;
    const { kind } = node.body;
    if (kind === 'external') checkExecutor(node, executors, faults);
    const service = serviceOf(kind, node.backend);
    if (service === null) continue;
    if (service === 'agents') checkAgentService(node, services, why, faults);
    // Of all steps that lack a service the first one tells.
    else if (!told.has(service)) checkService(node, kind, service, services, faults);
    told.add(service);
  }
}

function checkExecutor(node: StepNode, { usable, unusable }: Executors, faults: Faults): void {
  const name = textOf(node.keys, 'executor');
  if (name === null || usable.has(name)) return;
  const reason = unusable.get(name);
  if (reason === null) return;
  const hint = meant(name, [...usable.keys(), ...unusable.keys()]);
  const text =
    reason === undefined
      ? `there is no executor ${JSON.stringify(name.slice(0, 80))} under executors or in .baton/executors; ${hint}`
      : `the executor ${JSON.stringify(name)} cannot be used: ${reason}`;
  faults.add(valuePlace(node.keys, ['executor']), `${nameOf(node)}: ${text}`, 'EXECUTOR_NOT_FOUND');
}

/** `why`: how `auto` became http. */
function checkAgentService(node: StepNode, { lacking }: Services, why: string, faults: Faults): void {
  const lack = lacking.get('agents');
  const isNameless = textOf(node.keys, 'agent') === null;
  const missing = [...(lack ? [lack.text] : []), ...(isNameless ? ['it names no agent; set agent'] : [])];
  if (missing.length === 0) return;
  const isUnwired = isNameless || lack?.isUnwired === true;
  const over = node.keys.values.backend === 'auto' ? `this step runs over http (${why})` : 'this step runs over http';
  const text = `${nameOf(node)}: ${over}, and ${missing.join('; and ')}${isUnwired ? ', or set backend: cli' : ''}`;
  faults.add(valuePlace(node.keys, ['backend']), text, isUnwired ? 'UnwiredHttpTransport' : 'JobValidation');
}

function checkService(
  node: StepNode,
  kind: StepKind,
  service: ServiceName,
  { lacking }: Services,
  faults: Faults,
): void {
  const lack = lacking.get(service);
  if (lack === undefined) return;
  const text = `${nameOf(node)}: kind ${kind} needs a service, and ${lack.text}`;
  faults.add(valuePlace(node.keys, ['kind']), text, 'JobValidation');
}
