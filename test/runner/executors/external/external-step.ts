import { randomInt, randomUUID } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { detectContainment } from '../../../../runner/contain/detect-containment.js';
import type { ContainedProcess } from '../../../../runner/contain/process.js';
import { spawnContained } from '../../../../runner/contain/spawn-contained.js';
import { createExternalExecutor } from '../../../../runner/executors/external/external-executor.js';
import type { Outcome } from '../../../../src/domain/outcome.js';
import type { ExecutorDefinition, ExternalAction, Step } from '../../../../src/domain/steps/plan.js';
import { IMPLIED_PLAN } from '../../../support/builders.js';
import { type TestStep, type TestStepOptions, testStep } from '../../../support/step-context.js';
import { realClock } from '../../contain/workbench.js';

export const script = (name: string) => fileURLToPath(new URL(`../../../support/executors/${name}`, import.meta.url));

/** Not in the command line of anything else on the machine. */
export const newNonce = () => String(randomInt(100_000_000, 999_999_999));

export function definition(overrides: Partial<ExecutorDefinition> = {}): ExecutorDefinition {
  return {
    name: 'acme',
    type: 'external',
    command: 'bash',
    args: [],
    env: {},
    modelFlag: null,
    timeoutSeconds: null,
    source: 'workflow',
    file: '/project/WORKFLOW.md',
    dir: '/project',
    ...overrides,
  };
}

export function action(overrides: Partial<ExternalAction> = {}): ExternalAction {
  return {
    kind: 'external',
    executor: 'acme',
    input: {},
    model: null,
    envSet: {},
    description: '',
    tools: [],
    allowedPrograms: [],
    skills: [],
    memory: {},
    inputSchema: {},
    outputSchema: {},
    ...overrides,
  };
}

export interface ExternalStepOptions extends TestStepOptions {
  readonly definition?: Partial<ExecutorDefinition>;
  /** The steps of the run. */
  readonly steps?: readonly Step[];
}

export interface ExternalStep extends TestStep {
  readonly started: readonly ContainedProcess[];
  /** Resolves with the process once it is started. */
  readonly firstStart: Promise<ContainedProcess>;
  run(action?: Partial<ExternalAction>): Promise<Outcome>;
  /** The files of `keeps-all.sh`. */
  kept(): Kept;
}

interface Kept {
  readonly text: string;
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
}

/** A step of `kind: external` with one executor. Its processes have a unique marker. */
export async function externalStep(options: ExternalStepOptions = {}): Promise<ExternalStep> {
  const { definition: changes, steps = IMPLIED_PLAN.steps, ...rest } = options;
  const containment = await detectContainment({ isolation: options.isolation ?? 'auto', hide: [], clock: realClock });
  const started: ContainedProcess[] = [];
  const marker = randomUUID();
  let isStarted: (process: ContainedProcess) => void = () => {};
  const firstStart = new Promise<ContainedProcess>((resolve) => {
    isStarted = resolve;
  });
  const step: TestStep = await testStep({
    ...rest,
    workflow: {
      ...rest.workflow,
      plan: {
        ...IMPLIED_PLAN,
        steps,
        executors: { acme: definition({ args: ['-c', 'cat >/dev/null'], ...changes }) },
      },
    },
    overrides: {
      async start(program) {
        const cwd = program.cwd ?? step.workspace;
        const { dev, ino } = statSync(cwd);
        const process = await spawnContained({ ...program, marker, cwd, identity: { dev, ino } }, containment);
        started.push(process);
        isStarted(process);
        return process;
      },
      ...rest.overrides,
    },
  });
  onTestFinished(async () => {
    await Promise.all(started.map((process) => process.stop({ eofMs: 0, termMs: 0 })));
  });
  const read = (name: string) => readFileSync(join(step.workspace, name), 'utf8');
  const listOf = (name: string) => read(name).split('\0').slice(0, -1);
  return {
    ...step,
    started,
    firstStart,
    run: (changed) => createExternalExecutor().execute(action(changed), step.context),
    kept: () => ({
      text: read('envelope.json'),
      args: listOf('arguments'),
      env: Object.fromEntries(listOf('environment').map((line) => line.split(/=(.*)/s).slice(0, 2))),
    }),
  };
}

/** Runs a small script of bash as the executor. */
export const bash = (text: string, ...args: string[]): Partial<ExecutorDefinition> => ({
  command: 'bash',
  args: ['-c', text, 'acme', ...args],
});

/** Resolves once one of these processes has printed the word on stdout. */
export async function printed(process: ContainedProcess, word: string): Promise<void> {
  let text = '';
  await new Promise<void>((resolve) => {
    process.stdout.on('data', (chunk) => {
      text = (text + String(chunk)).slice(-1000);
      if (text.includes(word)) resolve();
    });
  });
}
