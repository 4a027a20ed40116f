import type { z } from 'zod';
import { assertNever } from '../../domain/json.js';
import type { Action, ActionStep, Backend, RetryPolicy, Step } from '../../domain/steps/plan.js';
import type { PlanSource } from './faults.js';
import type { Executors } from './executor-definitions.js';
import type { Services } from './services.js';
import { filePath, type StepNode, valuePlace } from './step-node.js';
import type { KINDS, SHAPES } from './step-schema.js';
import { serviceOf } from './step-services.js';

export interface BuildContext {
  readonly source: PlanSource;
  /** What `auto` is; `null`: that is not known, for a reason that is told. */
  readonly auto: Backend | null;
  readonly executors: Executors;
  readonly services: Services;
}

type Draft = Omit<StepNode, 'step'>;
type ParsedAction = z.output<(typeof KINDS)[keyof typeof KINDS]>;
type ParsedShape = z.output<(typeof SHAPES)[keyof typeof SHAPES]>;

/** The finished step of what has been found valid. Whether it can be wired is for others to say. */
export function buildAction(parsed: ParsedAction, node: Draft, context: BuildContext): ActionStep {
  return {
    shape: 'action',
    ...baseOf(parsed, node, context),
    action: actionOf(parsed, node, context),
    retry: retryOf(parsed.retry),
    timeoutMs: timeoutOf(parsed, node, context),
    idempotencyKey: parsed.idempotency_key,
  };
}

/** `null` when an inner step has a fault. */
export function buildShape(parsed: ParsedShape, node: Draft, context: BuildContext): Step | null {
  const lists = node.lists.map((list) => list.flatMap(({ step }) => step ?? []));
  const isWhole = node.lists.every((list, index) => list.length === lists[index]?.length);
  const [steps = []] = lists;
  if (!isWhole) return null;
  const base = baseOf(parsed, node, context);
  if ('parallel' in parsed) return { shape: 'parallel', ...base, branches: lists, join: parsed.join };
  if ('fan_out' in parsed) {
    const { items, max_workers: maxWorkers } = parsed.fan_out;
    return { shape: 'fan_out', ...base, items, maxWorkers, steps, join: parsed.fan_in.join };
  }
  const { max_iterations: maxIterations, break_when, items } = parsed.loop;
  return { shape: 'loop', ...base, maxIterations, breakWhen: expressionOf(break_when), items, steps };
}

function baseOf(parsed: ParsedAction | ParsedShape, { keys }: Draft, { source }: BuildContext) {
  const { line, column } = valuePlace(keys);
  const place = `${source.name}:${line}:${column}`;
  return { id: parsed.id, place, when: expressionOf(parsed.when), outputTo: parsed.output_to };
}

function expressionOf(written: string | boolean | null): string | null {
  return written === null ? null : String(written);
}

function actionOf(parsed: ParsedAction, node: Draft, { source }: BuildContext): Action {
  switch (parsed.kind) {
    case 'agent': {
      const { session, agent, input, strategy } = parsed;
      const prompt =
        parsed.prompt === null
          ? source.prompt
          : {
              text: parsed.prompt,
              ...source.positions.textAt(filePath(node.keys, ['prompt']), parsed.prompt),
              file: source.name,
            };
      return node.backend === 'http'
        ? { kind: 'agent', backend: 'http', agent: agent ?? '', prompt, input, strategy, session }
        : { kind: 'agent', backend: 'cli', prompt, maxTurns: parsed.max_turns ?? 1, session };
    }
    case 'external':
      return {
        kind: 'external',
        executor: parsed.executor,
        input: parsed.input,
        model: parsed.model,
        envSet: parsed.env_set,
        description: parsed.description,
        tools: parsed.tools,
        allowedPrograms: parsed.allowed_programs,
        skills: parsed.skills,
        memory: parsed.memory,
        inputSchema: parsed.input_schema,
        outputSchema: parsed.output_schema,
      };
    case 'capability':
      return { kind: 'capability', type: parsed.type, name: parsed.name, params: parsed.params };
    case 'llm': {
      const { model, prompt, max_tokens: maxTokens, temperature, stop } = parsed;
      return { kind: 'llm', model, prompt, maxTokens, temperature, stop };
    }
    case 'tool':
      return { kind: 'tool', tool: parsed.tool, args: parsed.args };
    case 'code': {
      const { language, source: code, stdin, env, cwd } = parsed;
      return { kind: 'code', language, source: code, stdin, env, cwd };
    }
    default:
      return assertNever(parsed);
  }
}

function retryOf(retry: ParsedAction['retry']): RetryPolicy | null {
  if (retry === null) return null;
  return {
    maxAttempts: retry.max_attempts,
    initialBackoffMs: retry.initial_backoff_ms,
    backoffCapMs: retry.backoff_cap_ms,
    strategy: retry.strategy,
  };
}

/** The step's own, else that of its definition or service, else none. */
function timeoutOf(parsed: ParsedAction, node: Draft, { executors, services }: BuildContext): number | null {
  if (parsed.timeout_s) return Math.ceil(parsed.timeout_s * 1000);
  if (parsed.kind === 'external') {
    const seconds = executors.usable.get(parsed.executor)?.timeoutSeconds ?? null;
    return seconds === null ? null : Math.ceil(seconds * 1000);
  }
  const service = serviceOf(parsed.kind, node.backend);
  return service === null ? null : (services.usable[service]?.timeoutMs ?? null);
}
