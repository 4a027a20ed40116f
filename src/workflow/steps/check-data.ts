import { BatonError } from '../../domain/errors.js';
import type { Json } from '../../domain/json.js';
import { parseExpression, tokensOf } from '../../domain/steps/expression.js';
import { parseText, type Token } from '../../domain/steps/tokens.js';
import type { KeyPath, Position } from '../positions.js';
import { isMap, valueAt } from '../problems.js';
import type { Faults, PlanSource } from './faults.js';
import { lookalikes, neverFilled, type TextFault, textsIn } from './never-filled.js';
import { nameOf, type StepNode, valuePlace } from './step-node.js';
import type { StepKind } from './step-schema.js';
import { INPUT_SIGHT, type Sight, tokenFault } from './token-fault.js';
import { sightOf } from './visible-data.js';

/** Keys whose texts are filled in; every other text is taken as it is. */
const FILLED: { readonly [kind in StepKind]: readonly string[] } = {
  agent: ['input'],
  external: ['input', 'env_set', 'memory'],
  capability: ['params'],
  llm: ['prompt'],
  tool: ['args'],
  code: ['source', 'stdin', 'env'],
};

/** Variables that say which program or code is run: as little as a command may they hold text of an issue. */
const DECIDES_WHAT_RUNS =
  /^(?:PATH|LD_.*|DYLD_.*|ENV|BASH_.*|SHELLOPTS|BASHOPTS|IFS|PS4|PROMPT_COMMAND|NODE_(?:OPTIONS|PATH)|PYTHON(?:STARTUP|PATH|HOME)|PERL5.*|RUBY(?:OPT|LIB)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|GIT_.*|EDITOR|PAGER|SHELL)$/;

/** Read in another way: expressions, inner steps, names with a rule of their own. */
const APART = ['id', 'when', 'kind', 'target', 'parallel', 'fan_out', 'loop', 'output_to'];

/** Holds every `${…}` and every expression against what will be there when its step runs. */
export function checkData(nodes: readonly StepNode[], source: PlanSource, faults: Faults): void {
  checkInputs(source, faults);
  const { inputs } = source.values;
  for (const { node, sight, inner } of sightOf(nodes, isMap(inputs) ? Object.keys(inputs) : [])) {
    checkStep(node, sight, faults);
    // Asked after the steps of the loop, so it sees what they see.
    checkExpression('break_when', ['loop', 'break_when'], node, (token) => tokenFault(token, inner), faults);
  }
}

function checkInputs({ values, positions }: PlanSource, faults: Faults): void {
  const inputs = values.inputs ?? null;
  if (!isMap(inputs)) return;
  for (const fault of filledFaults(inputs, ['inputs'], (token) => tokenFault(token, INPUT_SIGHT)))
    faults.add(positions.valueAt(fault.path), `inputs: ${fault.text}`, 'step_data_error');
  for (const { path, text } of lookalikes(inputs, ['inputs'])) faults.warn(positions.valueAt(path), `inputs: ${text}`);
}

function checkStep(node: StepNode, sight: Sight, faults: Faults): void {
  const { keys, body } = node;
  const name = nameOf(node);
  const judge = (token: Token) => tokenFault(token, sight);
  const tell = ({ path, text }: TextFault) => faults.add(valuePlace(keys, path), `${name}: ${text}`, 'step_data_error');
  checkExpression('when', ['when'], node, judge, faults);
  if (body === null) return;
  if ('kind' in body) {
    for (const [key, value] of Object.entries(keys.values)) {
      if (APART.includes(key)) continue;
      if (body.kind === 'agent' && key === 'prompt') warnOfTokens(node, value, faults);
      else if (key === 'idempotency_key' || FILLED[body.kind].includes(key)) {
        for (const fault of filledFaults(value, [key], judge)) tell({ ...fault, text: `${key}: ${fault.text}` });
        if (key === 'env_set' && isMap(value))
          for (const [name, text] of Object.entries(value).filter(([name]) => DECIDES_WHAT_RUNS.test(name)))
            for (const fault of neverFilled(text, [key, name]))
              tell({ ...fault, text: `${key}.${name}: ${fault.text}` });
        // Braces of all kinds are ordinary in code.
        if (key === 'source') warnOfIssueText(node, value, faults);
        else
          for (const { path, text } of lookalikes(value, [key]))
            faults.warn(valuePlace(keys, path), `${name}: ${key}: ${text}`);
      } else for (const fault of neverFilled(value, [key])) tell({ ...fault, text: `${key}: ${fault.text}` });
    }
    return;
  }
  const shape = keys.values[body.shape] ?? null;
  if (isMap(shape) && shape.items !== undefined && shape.items !== null) checkItems(node, shape, judge, faults);
}

function checkExpression(
  key: string,
  path: KeyPath,
  node: StepNode,
  judge: (token: Token) => string | null,
  faults: Faults,
): void {
  const value = valueAt(node.keys.values, path);
  if (typeof value !== 'string' || value.trim() === '') return;
  const at = valuePlace(node.keys, path);
  const name = nameOf(node);
  try {
    for (const token of tokensOf(parseExpression(value))) {
      const text = judge(token);
      if (text !== null) faults.add(at, `${name}: ${key}: ${text}`, 'step_data_error');
    }
  } catch (error) {
    tellThrown(error, at, `${name}: ${key}`, faults);
  }
}

/** `items` of a fan_out or a loop: a list, or one token that becomes a list. */
function checkItems(
  node: StepNode,
  shape: { readonly [key: string]: Json },
  judge: (token: Token) => string | null,
  faults: Faults,
): void {
  const { keys, body } = node;
  if (body === null || 'kind' in body) return;
  const items = shape.items as Json;
  const path = [body.shape, 'items'];
  const name = nameOf(node);
  for (const fault of filledFaults(items, path, judge))
    faults.add(valuePlace(keys, fault.path), `${name}: items: ${fault.text}`, 'step_data_error');
  if (typeof items === 'string' && !isOneToken(items)) {
    const text = `${name}: items must be a list, or one \`\${…}\` and nothing else, which becomes one`;
    faults.add(valuePlace(keys, path), text);
  }
  const limit = shape.max_iterations;
  if (body.shape === 'loop' && Array.isArray(items) && typeof limit === 'number' && items.length > limit) {
    const text = `${name}: there are ${items.length} items, and max_iterations is ${limit}; raise it, or give the loop fewer items`;
    faults.add(valuePlace(keys, path), text, 'loop_too_long');
  }
}

/** What is wrong with the tokens of a value that is filled in. Keys of maps are not. */
function* filledFaults(value: Json, path: KeyPath, judge: (token: Token) => string | null): Generator<TextFault> {
  for (const { path: at, text, isKey } of textsIn(value, path)) {
    if (isKey) {
      for (const fault of neverFilled({ [text]: null }, [])) yield { path: at, text: fault.text };
      continue;
    }
    try {
      for (const part of parseText(text)) {
        const fault = typeof part === 'string' ? null : judge(part);
        if (fault !== null) yield { path: at, text: fault };
      }
    } catch (error) {
      if (!(error instanceof BatonError)) throw error;
      yield { path: at, text: error.message };
    }
  }
}

function isOneToken(text: string): boolean {
  try {
    const parts = parseText(text);
    return parts.length === 1 && typeof parts[0] !== 'string';
  } catch {
    // The token itself is at fault, which is told.
    return true;
  }
}

function warnOfTokens(node: StepNode, value: Json, faults: Faults): void {
  for (const { path } of neverFilled(value, ['prompt'])) {
    const text = `${nameOf(node)}: the prompt of an agent is Liquid: write {{ issue.title }}, not \${issue.title}, which stays as it is`;
    faults.warn(valuePlace(node.keys, path), text);
  }
}

/** Issue text that becomes code is run as code. */
function warnOfIssueText(node: StepNode, value: Json, faults: Faults): void {
  if (typeof value !== 'string' || !/(?<!\$)\$\{\s*issue\b/.test(value)) return;
  const text = `${nameOf(node)}: source holds \${issue…}: whoever writes issues writes code here; give it by stdin or env instead`;
  faults.warn(valuePlace(node.keys, ['source']), text);
}

function tellThrown(error: unknown, at: Position, what: string, faults: Faults): void {
  if (!(error instanceof BatonError)) throw error;
  const rule =
    error.code === 'expression_error' ? `; compare \${…}, numbers and 'texts' with == != < > <= >=, and, or, not` : '';
  faults.add(at, `${what}: ${error.message}${rule}`, error.code);
}
