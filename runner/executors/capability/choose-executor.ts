import {
  type Capability,
  type CapabilityExecutor,
  type CapabilityIndex,
  executorFor,
  findCapability,
} from '../../../src/domain/capabilities.js';
import { BatonError } from '../../../src/domain/errors.js';
import { readDefinition } from './read-definition.js';
import { validateExecutor } from './validate-definition.js';

/** A capability and who runs it. Throws `CAPABILITY_NOT_FOUND` or `EXECUTOR_NOT_FOUND`. */
export function chooseCapability(
  index: CapabilityIndex,
  type: string,
  name: string,
): { readonly capability: Capability; readonly executor: CapabilityExecutor } {
  const capability = findCapability(index, type, name);
  const executor = executorFor(index, type, capability?.executor ?? null);
  if (executor === null) {
    const pinned = capability?.executor;
    const what = pinned ? `named ${pinned}, which the ${type} ${name} asks for` : `for capabilities of type ${type}`;
    throw new BatonError('EXECUTOR_NOT_FOUND', `there is no executor ${what}${skipped(index)}`, { type, name });
  }
  if (capability === null) {
    throw new BatonError('CAPABILITY_NOT_FOUND', `there is no ${type} named ${name}${skipped(index)}`, { type, name });
  }
  return { capability, executor };
}

export function chooseExecutor(index: CapabilityIndex, name: string): CapabilityExecutor {
  const executor = executorFor(index, '', name);
  if (executor !== null) return executor;
  throw new BatonError('EXECUTOR_NOT_FOUND', `there is no executor named ${name}${skipped(index)}`, { name });
}

/** Reads its definition once more: it may have been changed since it was found. Throws `INVALID_ACTION_BLOCK`. */
export async function freshExecutor({ dir, source }: CapabilityExecutor): Promise<CapabilityExecutor> {
  const found = await readDefinition(dir, 'executor');
  if (found.kind === 'missing') throw new BatonError('INVALID_ACTION_BLOCK', `${dir} has no executor.yaml`);
  if (found.kind === 'broken') throw new BatonError('INVALID_ACTION_BLOCK', `${found.file} ${found.reason}`);
  const checked = validateExecutor(found.content, { dir, source });
  if ('value' in checked) return checked.value;
  throw new BatonError('INVALID_ACTION_BLOCK', `${found.file} ${checked.problem}`);
}

function skipped({ problems }: CapabilityIndex): string {
  const count = problems.filter(({ level }) => level === 'error').length;
  return count === 0 ? '' : `; ${count} could not be read, see \`baton capability list\``;
}
