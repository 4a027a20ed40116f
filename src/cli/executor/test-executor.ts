import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type CheckResult, runConformance } from '../../../runner/executors/external/conformance.js';
import { createClock } from '../../clock.js';
import { BatonError } from '../../domain/errors.js';
import type { JsonObject } from '../../domain/json.js';
import { nearestWord } from '../../text/nearest-word.js';
import { neutralise } from '../../text/neutralise.js';
import type { ExecutorDefinition } from '../../domain/steps/plan.js';
import { createRedactor } from '../../logging/redact.js';
import { complain } from '../capability/complain.js';
import { type Paint, painter } from '../check/print-findings.js';
import { shorter } from '../invocation.js';
import type { Io } from '../io.js';
import { type OpenedWorkflow, openWorkflow } from '../open-workflow.js';
import { withConformanceHost } from './conformance-host.js';
import { commandLine } from '../executor.js';

export interface TestExecutorOptions {
  readonly name: string;
  readonly workflowPath: string;
  readonly inputPath?: string | undefined;
  readonly limitMs: number;
}

/** As long as in a run. */
const TERM_MS = 3_000;
const SETTLE_MS = 500;

/** Holds an executor to the protocol, one line for each check. 0: it keeps it, 1: it does not, 2: there is no such executor. */
export async function testExecutor(options: TestExecutorOptions, io: Io): Promise<number> {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort('operator');
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const clock = createClock();
  try {
    const opened = await openWorkflow(options.workflowPath, undefined, io);
    const { limitMs } = options;
    const definition = definitionOf(options, opened);
    const input = await readInput(options.inputPath, io);
    const redactor = createRedactor(opened.loaded.literalSecrets);
    const print = (text: string) => void io.stdout.write(redactor.mask(`${text}\n`));
    const paint = painter(io.isTTY && !io.env.NO_COLOR);
    print(neutralise(`${definition.name}: ${commandLine(definition)}  (${shorter(definition.file, io.cwd)})`));
    const warn = (message: string) => print(`  ${paint('yellow', '!')} ${neutralise(message)}`);
    const request = { opened, io, clock, redactor, signal: interrupted.signal, warn };
    const results = await withConformanceHost(request, async (host) => {
      const found: CheckResult[] = [];
      const suite = runConformance(definition, host, { input, limitMs, termMs: TERM_MS, settleMs: SETTLE_MS });
      for await (const result of suite) {
        print(lineOf(result, paint));
        found.push(result);
      }
      return found;
    });
    print(interrupted.signal.aborted ? 'Interrupted.' : verdict(results));
    return interrupted.signal.aborted || results.some(({ mark }) => mark === 'failed') ? 1 : 0;
  } catch (error) {
    return complain(error, 2, io);
  } finally {
    clock.close();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

function definitionOf({ name }: TestExecutorOptions, { loaded }: OpenedWorkflow): ExecutorDefinition {
  const { executors } = loaded.workflow.plan;
  const definition = Object.hasOwn(executors, name) ? executors[name] : undefined;
  if (definition !== undefined) return definition;
  const names = Object.keys(executors);
  const near = nearestWord(name, names);
  const there = names.length === 0 ? 'the workflow can use none' : `there is ${names.join(', ')}`;
  const hint = near === null ? there : `did you mean ${near}?`;
  throw new BatonError('EXECUTOR_NOT_FOUND', `there is no executor ${JSON.stringify(name)}; ${hint}`);
}

async function readInput(path: string | undefined, io: Io): Promise<JsonObject> {
  if (path === undefined) return {};
  const file = resolve(io.cwd, path);
  try {
    const input: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input as JsonObject;
  } catch (error) {
    const why = (error as Error).message;
    throw new BatonError('INVALID_REQUEST', `--input ${file} cannot be used: ${why}`, {}, { cause: error });
  }
  throw new BatonError('INVALID_REQUEST', `--input ${file} must be a JSON object, such as {"summary": "…"}`);
}

function lineOf({ mark, law, why, action }: CheckResult, paint: Paint): string {
  const signs = { passed: paint('green', '✓'), failed: paint('red', '✗'), told: paint('dim', '·') };
  const first = `  ${signs[mark]} ${law}${why === '' ? '' : `: ${neutralise(why)}`}`;
  return action === null ? first : `${first}\n      ${neutralise(action)}`;
}

function verdict(results: readonly CheckResult[]): string {
  const judged = results.filter(({ mark }) => mark !== 'told').length;
  const failed = results.filter(({ mark }) => mark === 'failed').length;
  if (failed === 0) return `It keeps the protocol: ${judged} checks passed.`;
  return `${failed} of ${judged} checks failed.`;
}
