import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { BatonError } from '../../src/domain/errors.js';
import { formatProblem, type Workflow } from '../../src/domain/workflow.js';
import { type LoadedWorkflow, type LoadOptions, loadWorkflow } from '../../src/workflow/load-workflow.js';

export const TRACKER_KINDS: LoadOptions['trackerKinds'] = new Map([
  ['local', { activeStates: ['todo'], terminalStates: ['done'] }],
  ['linear', { activeStates: ['Todo', 'In Progress'], terminalStates: ['Done', 'Canceled'] }],
  ['github', { activeStates: ['open'], terminalStates: ['closed'] }],
]);

/** A temporary folder, removed after the test. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'baton-workflow-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function writeWorkflow(content: string | Uint8Array, folder = temporaryFolder()): string {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, 'WORKFLOW.md');
  writeFileSync(file, content);
  return file;
}

export function load(file: string, env: NodeJS.ProcessEnv = {}): Promise<LoadedWorkflow> {
  return loadWorkflow(file, optionsWith(env));
}

export function optionsWith(env: NodeJS.ProcessEnv = {}): LoadOptions {
  return { env, homeDir: '/home/someone', trackerKinds: TRACKER_KINDS };
}

/** Loads a WORKFLOW.md with this front matter. */
export function loadSettings(frontMatter: string, env: NodeJS.ProcessEnv = {}): Promise<LoadedWorkflow> {
  return load(writeWorkflow(`---\n${frontMatter}\n---\nDo it.\n`), env);
}

/** The warnings as the log shows them. */
export function warningsOf({ warnings }: Workflow): string[] {
  return warnings.map(formatProblem);
}

export async function errorOf(promise: Promise<unknown>): Promise<BatonError> {
  const error = await promise.then(
    () => new Error('nothing was thrown'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof BatonError) return error;
  throw error;
}
