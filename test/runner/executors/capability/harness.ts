import { EventEmitter, once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  CapabilityManager,
  createCapabilityExecutor,
} from '../../../../runner/executors/capability/capability-manager.js';
import { discoverCapabilities } from '../../../../runner/executors/capability/definitions.js';
import type { StepContext } from '../../../../runner/executors/executor.js';
import type { Fields, JsonObject } from '../../../../src/domain/json.js';
import type { FailedOutcome, Outcome } from '../../../../src/domain/outcome.js';
import { type TestStep, type TestStepOptions, testStep } from '../../../support/step-context.js';

export const SIDE_ID = /^side_\d+_[0-9a-f]{8}$/;
export const CAP_ID = /^cap_\d+_[0-9a-f]{8}$/;

export interface CapabilityBench extends TestStep {
  readonly manager: CapabilityManager;
  /** `<project>/.baton/capabilities` */
  readonly folder: string;
  execute(name: string, params?: JsonObject, type?: string): Promise<Outcome>;
  /** Events of the transcript: `capabilityStarted`, … */
  events(): readonly JsonObject[];
  /** The output of the children. */
  printed(): readonly string[];
  /** Settles once a child has printed this line. */
  untilPrinted(line: string): Promise<void>;
}

/** A step context with a manager, an executor `test` for the type `power` with this code, and a capability `try` of that type. */
export async function capabilityBench(code: string, options: TestStepOptions = {}): Promise<CapabilityBench> {
  const step = await testStep(options);
  const folder = join(step.project, '.baton', 'capabilities');
  const homeDir = join(dirname(step.project), 'home');
  const manager = new CapabilityManager({ discover: (projectDir) => discoverCapabilities({ projectDir, homeDir }) });
  onTestFinished(() => manager.close());
  addExecutor(folder, 'test', code);
  addCapability(folder, 'power', 'try');
  const executor = createCapabilityExecutor(manager);
  const output = new EventEmitter();
  const context: StepContext = {
    ...step.context,
    audit(kind, data) {
      step.context.audit(kind, data);
      if (kind === 'capability_output') output.emit('line');
    },
  };
  const audited = (kind: string) =>
    step.audits.filter((audit) => audit.kind === kind).map(({ data }) => data as JsonObject);
  const printed = () => audited('capability_output').map(({ text }) => String(text));
  return {
    ...step,
    context,
    manager,
    folder,
    execute: (name, params = {}, type = 'power') =>
      executor.execute({ kind: 'capability', type, name, params }, context),
    events: () => audited('capability_event'),
    printed,
    async untilPrinted(line) {
      while (!printed().includes(line)) await once(output, 'line');
    },
  };
}

export function write(path: string, text: string, mode?: number): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  if (mode !== undefined) chmodSync(path, mode);
  return path;
}

export function addExecutor(folder: string, name: string, code: string, changes: Fields = {}): string {
  const config = { name, supportedTypes: ['power'], ...changes };
  const dir = join(folder, 'executors', name);
  // JSON is YAML.
  write(join(dir, 'executor.yaml'), JSON.stringify(config));
  write(join(dir, String(changes.entryPoint ?? 'dist/index.js')), code);
  return dir;
}

export function addCapability(folder: string, type: string, name: string, changes: Fields = {}): string {
  const dir = join(folder, type, name);
  write(join(dir, 'capability.yaml'), JSON.stringify({ name, type, ...changes }));
  return dir;
}

/** An executor whose handler has this body; it sees `codebolt`, `threadContext`, `metadata` and `params`. */
export function handler(body: string): string {
  return `import(process.env.BATON_CAPABILITY_CLIENT).then(({ codebolt }) =>
    codebolt.onActionBlockInvocation(async (threadContext, metadata) => {
      const { params } = threadContext;
      ${body}
    }));`;
}

/** The output of a good step; whatever else it is shows in the failure. */
export function outputOf(outcome: Outcome): Fields {
  if (outcome.state !== 'success') throw new Error(JSON.stringify(outcome));
  return outcome.output as Fields;
}

export function errorOf(outcome: Outcome): FailedOutcome['error'] {
  if (outcome.state === 'success') throw new Error(JSON.stringify(outcome));
  return outcome.error;
}

/** Is a process still there? Zombies are not. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
