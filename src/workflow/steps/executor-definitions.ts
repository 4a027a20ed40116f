import path from 'node:path';
import type { Json } from '../../domain/json.js';
import type { ExecutorDefinition } from '../../domain/steps/plan.js';
import type { Problem } from '../positions.js';
import { isSecretKey, variableName } from '../provider-secrets.js';
import { isMap, kindOf } from '../problems.js';
import type { DefinitionFile } from './definition-files.js';
import { type ReadDefinition, readDocument, readEntry } from './executor-definition.js';
import type { Faults, PlanSource } from './faults.js';

/** External executors by name, from `executors:` and from the folders of definitions. */
export interface Executors {
  readonly usable: ReadonlyMap<string, ExecutorDefinition>;
  /** Why a name that is defined somewhere cannot be used; `null`: that is told where it stands. */
  readonly unusable: ReadonlyMap<string, string | null>;
  /** Secrets that stand in a definition itself. */
  readonly literalSecrets: readonly string[];
}

/** The nearer layer wins: WORKFLOW.md, then the project, then the home. */
export function readExecutors(source: PlanSource, files: readonly DefinitionFile[], faults: Faults): Executors {
  const usable = new Map<string, ExecutorDefinition>();
  const unusable = new Map<string, string | null>();
  for (const { name, definition, reason, problems } of [
    ...documentsOf(files, 'global', faults),
    ...documentsOf(files, 'project', faults),
    ...entriesOf(source, faults),
  ]) {
    if (definition !== null) usable.set(name, definition);
    else if (name !== '') unusable.set(name, problems.length > 0 ? null : reason);
  }
  return { usable, unusable, literalSecrets: literalSecrets([...usable.values()], source, faults) };
}

function entriesOf(source: PlanSource, faults: Faults): ReadDefinition[] {
  const written: Json = source.values.executors ?? {};
  if (!isMap(written)) {
    const at = source.positions.valueAt(['executors']);
    faults.add(at, `executors must be a map of names to definitions, got ${kindOf(written)}`);
    return [];
  }
  return Object.entries(written).map(([name, value]) => {
    const read = readEntry(name, value, source);
    faults.problems.push(...read.problems);
    faults.warnings.push(...read.warnings);
    return read;
  });
}

function documentsOf(
  files: readonly DefinitionFile[],
  layer: DefinitionFile['layer'],
  faults: Faults,
): ReadDefinition[] {
  const read = files.filter((file) => file.layer === layer).map((file) => ({ file, ...readDocument(file) }));
  const twice = (name: string) => read.filter((other) => other.name === name).length > 1;
  return read.map(({ file, ...definition }) => {
    const isDouble = definition.definition !== null && twice(definition.name);
    const reason = `${path.basename(file.path)} is not the only definition of this name in its folder; remove one`;
    const problem: Problem = {
      at: { line: 1, column: 1 },
      text: `executor "${definition.name}": ${reason}`,
      file: file.name,
    };
    const kept: ReadDefinition = isDouble
      ? { ...definition, definition: null, reason, problems: [problem] }
      : definition;
    faults.warnings.push(...kept.warnings);
    // A fault in the home of the user is no fault of this project, unless a step wants that executor.
    if (layer === 'global') {
      faults.warnings.push(...kept.problems);
      return { ...kept, problems: [] };
    }
    faults.problems.push(...kept.problems);
    return kept;
  });
}

function literalSecrets(definitions: readonly ExecutorDefinition[], source: PlanSource, faults: Faults): string[] {
  return definitions.flatMap(({ name, env, source: layer, file }) =>
    Object.entries(env)
      .filter(([key, value]) => isSecretKey(key) && value.trim() !== '' && variableName(value) === null)
      .map(([key, value]) => {
        const text = `executor "${name}": env.${key} holds a secret in the file; put it in a variable and write $NAME here`;
        const at = source.positions.valueAt(['executors', name, 'env', key]);
        faults.warnings.push(layer === 'workflow' ? { at, text } : { at: { line: 1, column: 1 }, text, file });
        return value;
      }),
  );
}
