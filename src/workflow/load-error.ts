import { BatonError, type ErrorCode } from '../domain/errors.js';
import { FILE_START, formatProblem, inFileOrder, type Position, type Problem } from './positions.js';

/** One entry of `details.problems` of a load error. */
export interface LoadProblem {
  readonly code: ErrorCode | 'unknown_key';
  /** As messages name it: WORKFLOW.md or a definition; `null`: a flag or a variable. */
  readonly file: string | null;
  readonly at: Position;
  readonly text: string;
}

/** Everything that is wrong with a workflow as one error. `hints` are unknown keys: by themselves they would be no error. */
export function loadError(
  name: string,
  isFrontMatterPresent: boolean,
  problems: readonly Problem[],
  hints: readonly Problem[],
): BatonError {
  const codeOf = (problem: Problem) =>
    hints.includes(problem) ? 'unknown_key' : (problem.code ?? 'invalid_workflow_config');
  const all = inFileOrder([...problems, ...hints]);
  const lines = all.map((problem) => formatProblem(name, problem));
  const found: LoadProblem[] = all.map((problem) => {
    const { at, text, file } = problem;
    return { code: codeOf(problem), file: file === undefined ? name : file, at, text };
  });
  if (!isFrontMatterPresent) {
    const text = `${name} has no front matter: begin the file with settings between two \`---\` lines.`;
    lines.push(text);
    found.push({ code: 'invalid_workflow_config', file: name, at: FILE_START, text });
  }
  const codes = [...new Set(problems.map((problem) => problem.code ?? 'invalid_workflow_config'))];
  const [only] = codes;
  const code = codes.length === 1 && only !== undefined ? only : 'invalid_workflow_config';
  return new BatonError(code, lines.join('\n'), { problems: found });
}
