import path from 'node:path';
import { z } from 'zod';
import type { ErrorCode } from '../../domain/errors.js';
import { isMap, type Json, type JsonObject } from '../../domain/json.js';
import type { ExecutorDefinition } from '../../domain/steps/plan.js';
import type { DefinitionFile } from '../definition-files.js';
import { parseYaml, YamlError } from '../parse-front-matter.js';
import { FILE_START, formatPath, type KeyPath, type Positions, type Problem } from '../positions.js';
import { formatValue, formatZodProblem, typeName, zodProblems } from '../problems.js';
import { isSecretKey, variableName } from '../secrets.js';
import { oneOf, seconds, setting, text, textList } from '../setting.js';
import { type Faults, type PlanSource, unfilledTokens } from './step-node.js';
import { variables } from './step-schema.js';

const textWithoutNul = textList.refine((args) => args.every((arg) => !arg.includes('\0')), 'must not contain a NUL');

/** Known types. A definition of another type is skipped. */
const EXECUTOR_TYPES = ['external', 'direct_agent'] as const;

/** The keys of an external executor: an entry of `executors`, or `spec` of a definition file. */
export const executorShape = {
  executor_type: setting(oneOf(EXECUTOR_TYPES), 'external', 'Both mean the same; direct_agent is the older name.'),
  command: setting(
    text,
    null,
    'The program: a path relative to the folder of the definition, or a name on PATH. No shell.',
  ),
  args: setting(textWithoutNul, [], 'Arguments of the program.'),
  env: setting(variables, {}, 'Variables of the program. $NAME stands for a variable of the daemon.'),
  model_flag: setting(text, null, 'Flag before the model of a step.'),
  timeout_seconds: setting(seconds, null, 'Time limit of steps without one.'),
};

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const strict = z.strictObject(executorShape);
/** A definition file may have keys of other versions. */
const tolerant = z.object(executorShape);

/** The file of a definition. */
type Origin = Pick<ExecutorDefinition, 'source' | 'file' | 'dir'>;

/** External executors by name, from `executors:` and from the folders of definitions. */
export interface Executors {
  readonly usable: ReadonlyMap<string, ExecutorDefinition>;
  /** Why a defined name cannot be used; null when its definition reports the fault. */
  readonly unusable: ReadonlyMap<string, string | null>;
  /** Secrets that a definition contains. */
  readonly literalSecrets: readonly string[];
}

/** WORKFLOW.md takes precedence over the project, and the project over the home. */
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
    faults.add(at, `executors must be a map of names to definitions, got ${typeName(written)}`);
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
    // A fault in the home is a fault of this project only when a step uses that executor.
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
        const problem = { at: FILE_START, text, code: 'literal_secret' } as const;
        const at = source.positions.valueAt(['executors', name, 'env', key]);
        faults.warnings.push(layer === 'workflow' ? { ...problem, at } : { ...problem, file });
        return value;
      }),
  );
}

/** A definition, or why it cannot be used. A skipped definition is not a fault; a rejected one is. */
interface ReadDefinition {
  /** Empty when the whole folder cannot be read. */
  readonly name: string;
  readonly definition: ExecutorDefinition | null;
  /** Why `definition` is null. */
  readonly reason: string;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** An entry of `executors:`. */
function readEntry(name: string, value: Json, { positions, name: file, dir }: PlanSource): ReadDefinition {
  const origin: Origin = { source: 'workflow', file, dir };
  return readSpec(name, value, { path: ['executors', name], positions, origin, schema: strict });
}

/** A definition file. Never throws. */
function readDocument(file: DefinitionFile): ReadDefinition {
  const stem = path.basename(file.path).replace(/\.ya?ml$/, '');
  const refuse = (reason: string, at = FILE_START, code?: ErrorCode): ReadDefinition => {
    const problem = {
      at,
      text: file.isFolder ? `the folder of executors ${reason}` : `executor ${quoted(stem)}: ${reason}`,
      file: file.name,
      ...(code === undefined ? {} : { code }),
    };
    return { name: file.isFolder ? '' : stem, definition: null, reason, problems: [problem], warnings: [] };
  };
  if (file.bytes === null) return refuse(file.problem ?? 'cannot be read');
  let parsed: ReturnType<typeof parseYaml>;
  try {
    parsed = parseYaml(new TextDecoder('utf-8', { fatal: true }).decode(file.bytes));
  } catch (error) {
    if (error instanceof YamlError) return refuse(error.message, error.at ?? FILE_START);
    return refuse('is not valid UTF-8');
  }
  const { value, positions } = parsed;
  if (!isMap(value)) return refuse(`must be a map with schemaVersion, kind, metadata and spec, got ${typeName(value)}`);
  const fault = headFault(value, stem);
  if (fault !== null) return refuse(fault.text, positions.valueAt(fault.path), fault.code);
  const origin: Origin = { source: file.layer, file: file.name, dir: path.dirname(file.path) };
  return readSpec(stem, value.spec ?? {}, { path: ['spec'], positions, origin, schema: tolerant });
}

function headFault(document: JsonObject, stem: string): { path: KeyPath; text: string; code?: ErrorCode } | null {
  const { schemaVersion = null, kind = null, metadata = null } = document;
  if (schemaVersion !== 2) {
    const what =
      schemaVersion === 1
        ? 'schemaVersion 1 is no longer supported'
        : `schemaVersion must be 2, got ${formatValue(schemaVersion)}`;
    return { path: ['schemaVersion'], text: `${what}; write \`schemaVersion: 2\``, code: 'JobValidation' };
  }
  if (kind !== 'Executor')
    return { path: ['kind'], text: `kind must be Executor, got ${formatValue(kind)}`, code: 'JobValidation' };
  const name = isMap(metadata) ? (metadata.name ?? null) : null;
  if (name !== stem) {
    const text = `metadata.name must be the name of the file without its ending, "${stem}", got ${formatValue(name)}; rename one of the two`;
    return { path: ['metadata', 'name'], text };
  }
  return null;
}

/** The position of a definition in its file, and the schema for it. */
interface SpecContext {
  readonly path: KeyPath;
  readonly positions: Positions;
  readonly origin: Origin;
  readonly schema: typeof strict | typeof tolerant;
}

function readSpec(name: string, value: Json, { path: at, positions, origin, schema }: SpecContext): ReadDefinition {
  const where = origin.source === 'workflow' ? {} : { file: origin.file };
  const problemAt = (path: KeyPath, text: string, code?: Problem['code']): Problem => ({
    at: positions.valueAt([...at, ...path]),
    text: `executor ${quoted(name)}: ${text}`,
    ...where,
    ...(code === undefined ? {} : { code }),
  });
  const rejected = (problems: Problem[]): ReadDefinition => {
    const reason = (problems[0]?.text ?? '').replace(/^executor ".*?": /, '');
    return { name, definition: null, reason, problems, warnings: [] };
  };
  const skipped = (path: KeyPath, reason: string): ReadDefinition => {
    return {
      name,
      definition: null,
      reason,
      problems: [],
      warnings: [problemAt(path, `${reason}, so it is skipped`, 'executor_skipped')],
    };
  };
  if (!NAME.test(name))
    return rejected([problemAt([], 'its name may have only letters, digits, `.`, `_` and `-`, at most 64')]);
  if (!isMap(value)) return rejected([problemAt([], `must be a map with a command, got ${typeName(value)}`)]);
  const { executor_type: type } = value;
  if (typeof type === 'string' && !(EXECUTOR_TYPES as readonly string[]).includes(type))
    return skipped(['executor_type'], `executor_type ${formatValue(type)} is not known here`);
  const parsed = schema.safeParse(value);
  const found = zodProblems(parsed.error);
  const problems = found.map((problem) => {
    const fault = problemAt(problem.path, formatZodProblem(problem, value, Object.keys(executorShape)));
    return problem.isOfKey ? { ...fault, at: positions.keyAt([...at, ...problem.path]) } : fault;
  });
  const { command, args, env, model_flag } = value;
  for (const token of unfilledTokens({ command, args, env, model_flag } as JsonObject, []))
    problems.push(problemAt(token.path, `${formatPath(token.path)}: ${token.text}`, 'step_data_error'));
  const hasCommand = typeof command === 'string' ? command.trim() !== '' : (command ?? null) !== null;
  // A misspelled `command` is not a missing one.
  if (!hasCommand && !found.some(({ isUnknownKey }) => isUnknownKey)) return skipped([], 'it has no command');
  if (problems.length > 0 || !parsed.success) return rejected(problems);
  return { name, definition: definitionOf(name, parsed.data, origin), reason: '', problems: [], warnings: [] };
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 80));
}

function definitionOf(name: string, spec: z.output<typeof strict>, origin: Origin): ExecutorDefinition {
  return {
    name,
    type: spec.executor_type,
    command: spec.command ?? '',
    args: spec.args,
    env: spec.env,
    modelFlag: spec.model_flag,
    timeoutSeconds: spec.timeout_seconds || null,
    ...origin,
  };
}
