import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { BatonError } from '../../../src/domain/errors.js';
import type { ActionStep, Step } from '../../../src/domain/steps/plan.js';
import { allSteps } from '../../../src/domain/steps/plan.js';
import { type LoadedWorkflow, type LoadOptions, loadWorkflow } from '../../../src/workflow/load-workflow.js';
import { errorOf, optionsWith, temporaryFolder } from '../workflow-fixture.js';

export interface Given extends Partial<LoadOptions> {
  /** Files of the project and of the home, by path. */
  readonly project?: { readonly [path: string]: string };
  readonly home?: { readonly [path: string]: string };
  readonly body?: string;
}

/** Line 1 is `---` and line 2 the tracker, so the given text begins on line 3. */
export async function loadSteps(yaml: string, given: Given = {}): Promise<LoadedWorkflow> {
  const { project = {}, home = {}, body = 'Do it.', ...options } = given;
  const [dir, homeDir] = [temporaryFolder(), temporaryFolder()];
  writeAll(dir, { 'WORKFLOW.md': `---\ntracker: {kind: local}\n${yaml}\n---\n${body}\n`, ...project });
  writeAll(homeDir, home);
  return loadWorkflow(path.join(dir, 'WORKFLOW.md'), { ...optionsWith({}), homeDir, ...options });
}

export function faultOf(yaml: string, given: Given = {}): Promise<BatonError> {
  return errorOf(loadSteps(yaml, given));
}

/** The resolved step with this id, at any depth. */
export function stepOf({ workflow }: LoadedWorkflow, id: string): Step {
  for (const step of allSteps(workflow.plan.steps)) if (step.id === id) return step;
  throw new Error(`no step ${id}`);
}

export function actionOf(loaded: LoadedWorkflow, id: string): ActionStep {
  const step = stepOf(loaded, id);
  if (step.shape !== 'action') throw new Error(`${id} is no action`);
  return step;
}

export function writeAll(folder: string, files: { readonly [name: string]: string }): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
}

/** All services, with the token in the variable `TOKEN`. */
export const SERVICES =
  'services: {defaults: {tenant: "1", token: $TOKEN}, gateway: {base_url: "http://127.0.0.1:1"}, sandbox: {base_url: "http://127.0.0.1:2"}, tools: {base_url: "http://127.0.0.1:3"}, agents: {base_url: "http://127.0.0.1:4"}}';
export const TOKEN = { TOKEN: 'canary' };

export const definition = (name: string, spec = 'executor_type: external\n  command: /bin/true') =>
  `schemaVersion: 2\nkind: Executor\nmetadata:\n  name: ${name}\nspec:\n  ${spec}\n`;

/** A `tool` step with one argument, as YAML. */
export const TOOL = (id: string, rest = '') => `{ id: ${id}, kind: tool, tool: t${rest === '' ? '' : `, ${rest}`} }`;
export const arg = (token: string) => `args: { x: "${token}" }`;

/** A workflow with these steps, complete services, and the settings in `more`. */
export const loadServed = (steps: string, more = '') =>
  loadSteps(`${SERVICES}\n${more}\nsteps:\n${steps}`, { env: TOKEN });

/** All errors of these steps, without their positions. */
export const faultsServed = async (steps: string, more = '') =>
  (await faultOf(`${SERVICES}\n${more}\nsteps:\n${steps}`, { env: TOKEN })).message
    .split('\n')
    .map((line) => line.replace(/^WORKFLOW\.md:\d+:\d+ /, ''));
