import path from 'node:path';
import type { CapabilityIndex } from '../domain/capabilities.js';
import type { JsonObject } from '../domain/json.js';
import type { PromptSource } from '../domain/steps/plan.js';
import type { Workflow } from '../domain/workflow.js';
import { hashWithFiles, readCodeFiles } from './code-files.js';
import { buildConfig, type TrackerDefaults, unknownKeys, validateFrontMatter } from './config.js';
import { type FrontMatter, parseFrontMatter } from './parse-front-matter.js';
import { completeProblem, inFileOrder, type Problem } from './positions.js';
import { loadError } from './problems.js';
import { readWorkflowFile, type WorkflowFile } from './read-workflow-file.js';
import type { Settings } from './schema.js';
import { findOwnSecrets, findProviderSecrets, literalSecretWarning } from './secrets.js';
import { type PlanOptions, readPlan } from './steps/read-plan.js';
import { isInsideRoot } from './workspace-root.js';

/** The prompt of a WORKFLOW.md without one. */
export const BUILT_IN_PROMPT = `Work on the issue {{ issue.identifier }}: {{ issue.title }}

{{ issue.description }}`;

export interface LoadOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly homeDir: string;
  /** Every known tracker kind with its default states. */
  readonly trackerKinds: ReadonlyMap<string, TrackerDefaults>;
  /** The value of `--backend`. */
  readonly backendFlag?: string | undefined;
  /** Finds executors and capabilities. Absent: capability steps are not checked. */
  readonly capabilities?: ((projectDir: string) => Promise<CapabilityIndex>) | undefined;
  /** False: the code that the workflow runs is not compared with what was allowed. */
  readonly comparesCode?: boolean | undefined;
}

export interface LoadedWorkflow {
  readonly workflow: Workflow;
  /** Secrets in the file itself. Mask them before anything is logged. */
  readonly literalSecrets: readonly string[];
  /** The front matter as written, including unknown keys. May contain secrets. */
  readonly frontMatter: JsonObject;
  /** The whole file. May contain secrets. */
  readonly text: string;
}

/** Reads WORKFLOW.md into typed, frozen settings. Throws only `BatonError`. */
export async function loadWorkflow(file: string, options: LoadOptions): Promise<LoadedWorkflow> {
  return parseWorkflow(await readWorkflowFile(file, options.homeDir), options);
}

/** Parses a file that has been read. Throws only `BatonError`. */
export async function parseWorkflow(file: WorkflowFile, options: LoadOptions): Promise<LoadedWorkflow> {
  const name = path.basename(file.path);
  const frontMatter = parseFrontMatter(file.bytes, name);
  const { values, positions } = frontMatter;
  const checked = await validateFrontMatter(frontMatter, { ...options, workflowPath: file.path });
  const prompt = promptOf(frontMatter, name);
  const source = { values, positions, name, dir: path.dirname(file.path), env: options.env, prompt };
  const planned = await readPlan(source, planOptions(file, options, checked.ok ? checked.settings : null));
  const misspelt = unknownKeys(values, positions);
  const problems = [...(checked.ok ? [] : checked.problems), ...planned.problems];
  // An unknown key can explain a missing one.
  if (!checked.ok || problems.length > 0) throw loadError(name, frontMatter.isPresent, problems, misspelt);

  const warnings: Problem[] = [...frontMatter.warnings, ...misspelt, ...planned.warnings];
  const warn = (problem: Problem) => void warnings.push(problem);
  const { settings, root, defaults } = checked;
  if (checked.rootWarning !== null) warn(checked.rootWarning);
  const config = buildConfig(settings, { root, readable: checked.readable }, defaults, positions, warn);
  const secrets = findProviderSecrets(config.tracker.kind, config.tracker.provider);
  const own = findOwnSecrets(config);
  for (const { path: moved, value } of [...secrets.literals, ...own.literals]) {
    const key = positions.has(moved) ? moved : ['tracker', ...moved.slice(2)];
    warn({ at: positions.valueAt(key), text: literalSecretWarning(key, value), code: 'literal_secret' });
  }
  if (await isInsideRoot(file.path, root)) {
    const text = `${name} lies inside workspace.root, where agents could change hooks and settings. Move one of the two`;
    warn({ at: positions.valueAt(['workspace', 'root']), text, code: 'workflow_in_workspace_root' });
  }
  const planAndConfig = { dir: source.dir, homeDir: options.homeDir, config, plan: planned.plan };
  const files = options.comparesCode === false ? null : await readCodeFiles(planAndConfig);
  const workflow: Workflow = {
    path: file.path,
    ...planAndConfig,
    hash: files === null ? file.hash : hashWithFiles(file.hash, files),
    prompt,
    ...(files === null ? {} : { files }),
    secretNames: [...new Set([...secrets.names, ...own.names, ...planned.secretNames])],
    warnings: inFileOrder(warnings).map((problem) => completeProblem(name, problem)),
  };
  const literals = [...secrets.literals, ...own.literals].map(({ value }) => value);
  const literalSecrets = [...literals, ...planned.literalSecrets];
  return deepFreeze({ workflow, literalSecrets, frontMatter: values, text: file.bytes.toString('utf8') });
}

function promptOf({ body, bodyStartLine }: FrontMatter, file: string): PromptSource {
  return body === '' ? { text: BUILT_IN_PROMPT, startLine: 0, file } : { text: body, startLine: bodyStartLine, file };
}

/** The plan is read even if the settings are invalid, so that all faults are reported at once. */
function planOptions(file: WorkflowFile, options: LoadOptions, settings: Settings | null): PlanOptions {
  return {
    definitions: file.definitions ?? [],
    backendFlag: options.backendFlag,
    maxTurns: settings?.agent.max_turns ?? 1,
    capabilities: options.capabilities,
  };
}

/** Freezes plain data recursively and returns it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
  return value;
}
