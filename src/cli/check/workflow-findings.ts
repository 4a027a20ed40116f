import { dirname, join } from 'node:path';
import { promptValues } from '../../../runner/prompt-values.js';
import { compilePrompt, type PromptValues } from '../../../templates/render-prompt.js';
import type { PromptSource } from '../../domain/config.js';
import { ERRORS } from '../../domain/error-table.js';
import { type BatonError, toBatonError } from '../../domain/errors.js';
import type { LoadProblem } from '../../workflow/load-error.js';
import { BUILT_IN_PROMPT } from '../../workflow/load-workflow.js';
import { FILE_START, parseProblem } from '../../workflow/positions.js';
import type { WorkflowText } from './check-context.js';
import { type Finding, reporter } from './finding.js';
import { BARE_ISSUE, SAMPLE_ISSUE } from './sample-issue.js';

/** What the loader threw, one finding for each problem that it names. `name` is how its messages call the file. */
export function loadErrors(thrown: unknown, name: string, file: string): Finding[] {
  const report = reporter('Workflow', file);
  const error = toBatonError(thrown);
  if (error.code === 'missing_workflow_file') {
    return [report('error', error.code, null, error.message, '`init` writes one for this folder.')];
  }
  const problems = error.details.problems as readonly LoadProblem[] | undefined;
  if (problems === undefined) {
    const problem = parseProblem(name, error.message);
    const at = problem?.at ?? FILE_START;
    return [report('error', error.code, at, problem?.text ?? error.message, ERRORS[error.code].action)];
  }
  return problems.map(({ code, file: place, at, text }) => {
    // A misspelt key is told along with the errors because it may explain one; by itself it does no harm.
    if (code === 'unknown_key') return report('warning', code, at, text);
    const found = report('error', code, place === null ? null : at, text, ERRORS[code].action);
    return { ...found, file: place === null || place === name ? file : beside(file, place) };
  });
}

/** A definition as this person would call it: messages name those of the project from the folder of WORKFLOW.md on. */
function beside(file: string, definition: string): string {
  return definition.startsWith('~') ? definition : join(dirname(file), definition);
}

const DEFINITION = /^(?:~\/)?\.baton\/executors.*?(?=:\d+:\d+ )/;

/** What the loader warned of. */
export function loadWarnings(warnings: readonly string[], name: string, file: string): Finding[] {
  const report = reporter('Workflow', file);
  return warnings.map((text) => {
    const problem = parseProblem(name, text);
    const [definition] = DEFINITION.exec(text) ?? [];
    const elsewhere = definition === undefined ? null : parseProblem(definition, text);
    if (definition === undefined || elsewhere === null)
      return report('warning', 'workflow_warning', problem?.at ?? FILE_START, problem?.text ?? text);
    return { ...report('warning', 'workflow_warning', elsewhere.at, elsewhere.text), file: beside(file, definition) };
  });
}

/**
 * Does the prompt compile, and render for a full and for a bare issue, on the first run and on a later one? Where there are steps, it
 * may name what they give: it is rendered with them.
 */
export function promptFindings({ file, frontMatter }: WorkflowText): Finding[] {
  const report = reporter('Workflow', file);
  const isBuiltIn = frontMatter.body === '';
  const hasSteps = (frontMatter.values.steps ?? null) !== null;
  const source: PromptSource = isBuiltIn
    ? { text: BUILT_IN_PROMPT, startLine: 0, file }
    : { text: frontMatter.body, startLine: frontMatter.bodyStartLine, file };
  try {
    const prompt = compilePrompt(source);
    if (!hasSteps) for (const values of samples()) prompt.render(values);
  } catch (thrown) {
    const error = toBatonError(thrown);
    const problem = parseProblem(file, error.message);
    const at = problem?.at ?? { line: Math.max(1, frontMatter.bodyStartLine), column: 1 };
    return [report('error', error.code, at, `the prompt fails: ${problem?.text ?? error.message}`, adviceOf(error))];
  }
  if (!isBuiltIn || hasSteps) return [];
  const advice = 'Write below the second `---` what agents should do with an issue.';
  return [report('note', 'built_in_prompt', null, 'there is no prompt: the built-in one is used', advice)];
}

function adviceOf({ code }: BatonError): string {
  return ERRORS[code].action;
}

export function samples(): PromptValues[] {
  const workflow = { path: '/project/WORKFLOW.md', dir: '/project' };
  return [SAMPLE_ISSUE, BARE_ISSUE].flatMap((issue) => [
    promptValues({ issue, attempt: null, runId: 'check-1', number: 1, reason: 'first' }, workflow, '/workspaces/AB-1'),
    promptValues({ issue, attempt: 1, runId: 'check-2', number: 2, reason: 'retry' }, workflow, '/workspaces/AB-1'),
  ]);
}
