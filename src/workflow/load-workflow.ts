import path from 'node:path';
import type { Workflow } from '../domain/config.js';
import { BatonError } from '../domain/errors.js';
import type { JsonObject } from '../domain/json.js';
import { buildConfig, type TrackerDefaults } from './build-config.js';
import { deepFreeze } from './deep-freeze.js';
import { type FrontMatter, parseFrontMatter } from './parse-front-matter.js';
import { formatProblem, inFileOrder, type Problem } from './positions.js';
import { findProviderSecrets, literalSecretWarning } from './provider-secrets.js';
import { readWorkflowFile, type WorkflowFile } from './read-workflow-file.js';
import { unknownKeys } from './unknown-keys.js';
import { validateFrontMatter } from './validate-front-matter.js';
import { isInsideRoot } from './workspace-root.js';

/** The prompt of a WORKFLOW.md that has none. */
export const BUILT_IN_PROMPT = `Work on the issue {{ issue.identifier }}: {{ issue.title }}

{{ issue.description }}`;

export interface LoadOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly homeDir: string;
  /** Every known tracker kind with its default states. */
  readonly trackerKinds: ReadonlyMap<string, TrackerDefaults>;
}

export interface LoadedWorkflow {
  readonly workflow: Workflow;
  /** Secrets that stand in the file itself: mask them before anything is logged. */
  readonly literalSecrets: readonly string[];
  /** The front matter as written, keys included that this version does not know. May hold secrets. */
  readonly frontMatter: JsonObject;
}

/** Reads WORKFLOW.md into typed, frozen settings. Throws `BatonError` and nothing else. */
export async function loadWorkflow(file: string, options: LoadOptions): Promise<LoadedWorkflow> {
  return parseWorkflow(await readWorkflowFile(file), options);
}

/** The same for a file that has been read. */
export async function parseWorkflow(file: WorkflowFile, options: LoadOptions): Promise<LoadedWorkflow> {
  const name = path.basename(file.path);
  const frontMatter = parseFrontMatter(file.bytes, name);
  const checked = await validateFrontMatter(frontMatter, { ...options, workflowPath: file.path });
  const misspelt = unknownKeys(frontMatter.values, frontMatter.positions);
  // A missing key is often there under a wrong name.
  if (!checked.ok) throw configError(name, frontMatter, [...checked.problems, ...misspelt], checked.isKindOnly);

  const warnings: Problem[] = [...frontMatter.warnings, ...misspelt];
  const warn = (problem: Problem) => void warnings.push(problem);
  const { settings, root, defaults } = checked;
  if (checked.rootWarning !== null) warn(checked.rootWarning);
  const config = buildConfig(settings, root, defaults, frontMatter.positions, warn);
  const secrets = findProviderSecrets(config.tracker.kind, config.tracker.provider);
  for (const { path: moved, value } of secrets.literals) {
    const key = frontMatter.positions.has(moved) ? moved : ['tracker', ...moved.slice(2)];
    warn({ at: frontMatter.positions.valueAt(key), text: literalSecretWarning(key, value) });
  }
  if (await isInsideRoot(file.path, root)) {
    const text = `${name} lies inside workspace.root, where agents can write: they could change hooks and settings. Move one of the two`;
    warn({ at: frontMatter.positions.valueAt(['workspace', 'root']), text });
  }
  const workflow: Workflow = {
    path: file.path,
    dir: path.dirname(file.path),
    hash: file.hash,
    config,
    prompt:
      frontMatter.body === ''
        ? { text: BUILT_IN_PROMPT, startLine: 0, file: name }
        : { text: frontMatter.body, startLine: frontMatter.bodyStartLine, file: name },
    secretNames: secrets.names,
    warnings: inFileOrder(warnings).map((problem) => formatProblem(name, problem)),
  };
  return deepFreeze({
    workflow,
    literalSecrets: secrets.literals.map(({ value }) => value),
    frontMatter: frontMatter.values,
  });
}

function configError(
  name: string,
  frontMatter: FrontMatter,
  problems: readonly Problem[],
  isKindOnly: boolean,
): BatonError {
  const lines = inFileOrder(problems).map((problem) => formatProblem(name, problem));
  if (!frontMatter.isPresent) {
    lines.push(`${name} has no front matter: begin the file with settings between two \`---\` lines.`);
  }
  return new BatonError(isKindOnly ? 'unsupported_tracker_kind' : 'invalid_workflow_config', lines.join('\n'), {
    problems: lines,
  });
}
