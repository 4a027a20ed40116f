import {
  brokenExecutorFor,
  type Capability,
  type CapabilityIndex,
  executorFor,
  findCapability,
} from '../../domain/capabilities.js';
import { isMap } from '../../domain/json.js';
import { nearestWord } from '../../domain/nearest-word.js';
import { suggestName } from '../problems.js';
import { allNodes, type Faults, keyPosition, nameOf, type StepNode, textOf, valuePosition } from './step-node.js';

export function hasCapabilities(nodes: readonly StepNode[]): boolean {
  for (const node of allNodes(nodes)) if (isCapability(node)) return true;
  return false;
}

/** Checks that each capability and its executor exist, and that its required inputs are given. */
export function checkCapabilities(nodes: readonly StepNode[], index: CapabilityIndex, faults: Faults): void {
  for (const node of allNodes(nodes)) {
    const type = textOf(node.keys, 'type');
    const name = textOf(node.keys, 'name');
    if (!isCapability(node) || type === null || name === null) continue;
    const capability = findCapability(index, type, name);
    if (capability === null) reportMissing(node, type, name, index, faults);
    else checkInputs(node, capability, faults);
    checkExecutor(node, type, capability, index, faults);
  }
}

function isCapability({ body }: StepNode): boolean {
  return body !== null && 'kind' in body && body.kind === 'capability';
}

function reportMissing(node: StepNode, type: string, name: string, index: CapabilityIndex, faults: Faults): void {
  const types = [...new Set(index.capabilities.map((one) => one.type))];
  const names = index.capabilities.filter((one) => one.type === type).map((one) => one.name);
  const nearType = names.length === 0 ? nearestWord(type, types) : null;
  const nearName = nearestWord(name, names);
  const elsewhere = index.capabilities.find((one) => one.name === name && one.type !== type);
  const hint =
    nearName !== null
      ? `did you mean ${nearName}?`
      : elsewhere !== undefined
        ? `there is one of type ${elsewhere.type}`
        : nearType !== null
          ? `did you mean type ${nearType}?`
          : names.length > 0
            ? `there are ${names.slice(0, 12).join(', ')}`
            : 'there are none of this type';
  const text = `there is no capability ${quoted(name)} of type ${quoted(type)}; ${hint}${concerning([name, type], index)}`;
  faults.add(valuePosition(node.keys, ['name']), `${nameOf(node)}: ${text}`, 'CAPABILITY_NOT_FOUND');
}

function checkInputs(node: StepNode, { inputs, name }: Capability, faults: Faults): void {
  const params = node.keys.values.params ?? {};
  if (!isMap(params)) return;
  const known = inputs.map((input) => input.name);
  for (const key of Object.keys(params).filter((param) => known.length > 0 && !known.includes(param))) {
    const text = `${nameOf(node)}: the capability ${quoted(name)} has no input ${quoted(key)}; ${suggestName(key, known)}`;
    faults.warn(keyPosition(node.keys, ['params', key]), text, 'undeclared_input');
  }
  const missing = inputs.filter(
    (input) => input.required && input.default === undefined && !Object.hasOwn(params, input.name),
  );
  if (missing.length === 0) return;
  const wanted = missing.map((input) => `${input.name} (${input.type})`).join(', ');
  const text = `${nameOf(node)}: the capability ${quoted(name)} requires ${wanted}; add it to params`;
  faults.add(valuePosition(node.keys, ['params']), text, 'INVALID_REQUEST');
}

function checkExecutor(
  node: StepNode,
  type: string,
  capability: Capability | null,
  index: CapabilityIndex,
  faults: Faults,
): void {
  const pinned = capability?.executor ?? null;
  if (executorFor(index, type, pinned) !== null) return;
  const broken = brokenExecutorFor(index, type, pinned);
  if (broken !== null) {
    const which = pinned === null ? `for capabilities of type ${quoted(type)}` : quoted(pinned);
    const problem = `${nameOf(node)}: the executor ${which} is invalid: ${broken.text}`;
    faults.add(valuePosition(node.keys, ['type']), problem, 'INVALID_ACTION_BLOCK');
    return;
  }
  const known =
    pinned === null ? index.executors.flatMap((one) => one.supportedTypes) : index.executors.map((one) => one.name);
  const near = nearestWord(pinned ?? type, known);
  const what =
    pinned === null
      ? `no executor runs capabilities of type ${quoted(type)}`
      : `the capability names the executor ${quoted(pinned)}, which does not exist`;
  const hint = near === null ? '' : `; did you mean ${near}?`;
  const text = `${nameOf(node)}: ${what}${hint}${concerning([pinned ?? type], index)}`;
  faults.add(valuePosition(node.keys, ['type']), text, 'EXECUTOR_NOT_FOUND');
}

/** Rejected entries of the index that mention the missing name. */
function concerning(words: readonly string[], { problems }: CapabilityIndex): string {
  const mentions = (text: string) => words.some((word) => text.toLowerCase().includes(word.toLowerCase()));
  const found = problems.filter(({ level, text }) => level === 'error' && mentions(text)).map(({ text }) => text);
  return found.length === 0 ? '' : `; these entries were rejected: ${found.slice(0, 3).join('; ')}`;
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 80));
}
