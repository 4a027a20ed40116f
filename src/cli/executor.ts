import { neutralise } from '../text/neutralise.js';
import type { ExecutorDefinition } from '../domain/steps/plan.js';
import { complain } from './capability/complain.js';
import { shellWord, shorter } from './invocation.js';
import type { Io } from './io.js';
import { openWorkflow } from './open-workflow.js';

/** Prints the executors of a workflow, one line each. */
export async function listExecutors({ workflowPath }: { readonly workflowPath: string }, io: Io): Promise<number> {
  try {
    const { loaded } = await openWorkflow(workflowPath, undefined, io);
    const definitions = Object.values(loaded.workflow.plan.executors);
    io.stdout.write(definitions.length === 0 ? none(workflowPath) : `${linesOf(definitions, io).join('\n')}\n`);
    return 0;
  } catch (error) {
    return complain(error, 2, io);
  }
}

function linesOf(definitions: readonly ExecutorDefinition[], io: Io): string[] {
  const width = Math.max(...definitions.map(({ name }) => name.length));
  return definitions
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((one) => neutralise(`${one.name.padEnd(width)}  ${commandLine(one)}  (${shorter(one.file, io.cwd)})`));
}

export function commandLine({ command, args }: Pick<ExecutorDefinition, 'command' | 'args'>): string {
  return [command, ...args].map(shellWord).join(' ');
}

function none(workflowPath: string): string {
  return `${neutralise(workflowPath)} can use no external executor. Define one under \`executors:\` there, or in .baton/executors/<name>.yaml.\n`;
}
