import { promptValues } from '../../../runner/prompt-values.js';
import { compilePrompt, type PromptValues } from '../../../templates/render-prompt.js';
import type { PromptSource } from '../../domain/config.js';
import { ERRORS } from '../../domain/error-table.js';
import { type BatonError, toBatonError } from '../../domain/errors.js';
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
  const advice = ERRORS[error.code].action;
  const texts = Array.isArray(error.details.problems) ? (error.details.problems as string[]) : [error.message];
  return texts.map((text) => {
    const problem = parseProblem(name, text);
    // A misspelt key is told along with the errors because it may explain one; by itself it does no harm.
    const level = problem?.text.startsWith('unknown key ') ? 'warning' : 'error';
    const code = level === 'warning' ? 'unknown_key' : error.code;
    return report(level, code, problem?.at ?? FILE_START, problem?.text ?? text, level === 'warning' ? null : advice);
  });
}

/** What the loader warned of. */
export function loadWarnings(warnings: readonly string[], name: string, file: string): Finding[] {
  const report = reporter('Workflow', file);
  return warnings.map((text) => {
    const problem = parseProblem(name, text);
    return report('warning', 'workflow_warning', problem?.at ?? FILE_START, problem?.text ?? text);
  });
}

/** Does the prompt compile, and render for a full and for a bare issue, on the first run and on a later one? */
export function promptFindings({ file, frontMatter }: WorkflowText): Finding[] {
  const report = reporter('Workflow', file);
  const isBuiltIn = frontMatter.body === '';
  const source: PromptSource = isBuiltIn
    ? { text: BUILT_IN_PROMPT, startLine: 0, file }
    : { text: frontMatter.body, startLine: frontMatter.bodyStartLine, file };
  try {
    const prompt = compilePrompt(source);
    for (const values of samples()) prompt.render(values);
  } catch (thrown) {
    const error = toBatonError(thrown);
    const problem = parseProblem(file, error.message);
    const at = problem?.at ?? { line: Math.max(1, frontMatter.bodyStartLine), column: 1 };
    return [report('error', error.code, at, `the prompt fails: ${problem?.text ?? error.message}`, adviceOf(error))];
  }
  if (!isBuiltIn) return [];
  const advice = 'Write below the second `---` what agents should do with an issue.';
  return [report('note', 'built_in_prompt', null, 'there is no prompt: the built-in one is used', advice)];
}

function adviceOf({ code }: BatonError): string {
  return ERRORS[code].action;
}

function samples(): PromptValues[] {
  const workflow = { path: '/project/WORKFLOW.md', dir: '/project' };
  return [SAMPLE_ISSUE, BARE_ISSUE].flatMap((issue) => [
    promptValues({ issue, attempt: null, runId: 'check-1', number: 1, reason: 'first' }, workflow, '/workspaces/AB-1'),
    promptValues({ issue, attempt: 1, runId: 'check-2', number: 2, reason: 'retry' }, workflow, '/workspaces/AB-1'),
  ]);
}
