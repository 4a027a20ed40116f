import { BatonError } from '../../domain/errors.js';
import { isMap, type Json } from '../../domain/json.js';
import { parseExpression, tokensOf } from '../../domain/steps/expression.js';
import { parseText, type Token } from '../../domain/steps/tokens.js';
import type { Position } from '../../domain/workflow.js';
import type { KeyPath } from '../positions.js';
import { valueAt } from '../problems.js';
import {
  type Faults,
  lookalikes,
  nameOf,
  type PlanSource,
  type StepNode,
  type TextFault,
  textsIn,
  unfilledTokens,
  valuePosition,
} from './step-node.js';
import type { StepKind } from './step-schema.js';
import { INPUT_DATA, tokenFault, type VisibleData, visibleData } from './visible-data.js';

/** Keys in whose texts tokens are filled in. All other texts stay unchanged. */
const FILLED_KEYS: { readonly [kind in StepKind]: readonly string[] } = {
  agent: ['input'],
  external: ['input', 'env_set', 'memory'],
  capability: ['params'],
  llm: ['prompt'],
  tool: ['args'],
  code: ['source', 'stdin', 'env'],
};

/** Variables that decide which program or code runs. As a command, they must not contain text of an issue. */
const DECIDES_WHAT_RUNS =
  /^(?:PATH|LD_.*|DYLD_.*|ENV|BASH_.*|SHELLOPTS|BASHOPTS|IFS|PS4|PROMPT_COMMAND|NODE_(?:OPTIONS|PATH)|PYTHON(?:STARTUP|PATH|HOME)|PERL5.*|RUBY(?:OPT|LIB)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|GIT_.*|EDITOR|PAGER|SHELL)$/;

/** Keys with checks of their own: expressions, inner steps, names. */
const OTHER_KEYS = ['id', 'when', 'kind', 'target', 'parallel', 'fan_out', 'loop', 'output_to'];

/** Checks every `${…}` and every expression against the data that exists when its step runs. */
export function checkData(nodes: readonly StepNode[], source: PlanSource, faults: Faults): void {
  checkInputs(source, faults);
  const { inputs } = source.values;
  for (const { node, data, inner } of visibleData(nodes, isMap(inputs) ? Object.keys(inputs) : [])) {
    checkStep(node, data, faults);
    // Evaluated after the steps of the loop, so it sees their outputs.
    checkExpression('break_when', ['loop', 'break_when'], node, (token) => tokenFault(token, inner), faults);
  }
}

function checkInputs({ values, positions }: PlanSource, faults: Faults): void {
  const inputs = values.inputs ?? null;
  if (!isMap(inputs)) return;
  for (const fault of filledFaults(inputs, ['inputs'], (token) => tokenFault(token, INPUT_DATA)))
    faults.add(positions.valueAt(fault.path), `inputs: ${fault.text}`, 'step_data_error');
  for (const { path, text } of lookalikes(inputs, ['inputs']))
    faults.warn(positions.valueAt(path), `inputs: ${text}`, 'unfilled_text');
}

function checkStep(node: StepNode, data: VisibleData, faults: Faults): void {
  const { keys, body } = node;
  const faultOf = (token: Token) => tokenFault(token, data);
  checkExpression('when', ['when'], node, faultOf, faults);
  if (body === null) return;
  if ('kind' in body) {
    checkActionKeys(node, body.kind, faultOf, faults);
    return;
  }
  const shape = keys.values[body.shape] ?? null;
  if (isMap(shape) && shape.items !== undefined && shape.items !== null) checkItems(node, shape, faultOf, faults);
}

function checkActionKeys(
  node: StepNode,
  kind: StepKind,
  faultOf: (token: Token) => string | null,
  faults: Faults,
): void {
  for (const [key, value] of Object.entries(node.keys.values)) {
    if (OTHER_KEYS.includes(key)) continue;
    if (kind === 'agent' && key === 'prompt') warnOfTokens(node, value, faults);
    else if (key === 'idempotency_key' || FILLED_KEYS[kind].includes(key)) {
      checkFilledKey(node, key, value, faultOf, faults);
    } else reportKey(node, key, unfilledTokens(value, [key]), faults);
  }
}

function checkFilledKey(
  node: StepNode,
  key: string,
  value: Json,
  faultOf: (token: Token) => string | null,
  faults: Faults,
): void {
  reportKey(node, key, filledFaults(value, [key], faultOf), faults);
  if (key === 'env_set' && isMap(value)) {
    for (const [variable, text] of Object.entries(value)) {
      if (!DECIDES_WHAT_RUNS.test(variable)) continue;
      reportKey(node, `${key}.${variable}`, unfilledTokens(text, [key, variable]), faults);
    }
  }
  // Braces are ordinary in code.
  if (key === 'source') return warnOfIssueText(node, value, faults);
  for (const { path, text } of lookalikes(value, [key])) {
    faults.warn(valuePosition(node.keys, path), `${nameOf(node)}: ${key}: ${text}`, 'unfilled_text');
  }
}

function reportKey(node: StepNode, label: string, found: Iterable<TextFault>, faults: Faults): void {
  for (const { path, text } of found) {
    faults.add(valuePosition(node.keys, path), `${nameOf(node)}: ${label}: ${text}`, 'step_data_error');
  }
}

function checkExpression(
  key: string,
  path: KeyPath,
  node: StepNode,
  faultOf: (token: Token) => string | null,
  faults: Faults,
): void {
  const value = valueAt(node.keys.values, path);
  if (typeof value !== 'string' || value.trim() === '') return;
  const at = valuePosition(node.keys, path);
  const name = nameOf(node);
  try {
    for (const token of tokensOf(parseExpression(value))) {
      const text = faultOf(token);
      if (text !== null) faults.add(at, `${name}: ${key}: ${text}`, 'step_data_error');
    }
  } catch (error) {
    reportError(error, at, `${name}: ${key}`, faults);
  }
}

/** Checks `items` of a fan_out or a loop: a list, or one token that becomes a list. */
function checkItems(
  node: StepNode,
  shape: { readonly [key: string]: Json },
  faultOf: (token: Token) => string | null,
  faults: Faults,
): void {
  const { keys, body } = node;
  if (body === null || 'kind' in body) return;
  const items = shape.items as Json;
  const path = [body.shape, 'items'];
  const name = nameOf(node);
  for (const fault of filledFaults(items, path, faultOf))
    faults.add(valuePosition(keys, fault.path), `${name}: items: ${fault.text}`, 'step_data_error');
  if (typeof items === 'string' && !isOneToken(items)) {
    const text = `${name}: items must be a list or a single \`\${…}\` that becomes one`;
    faults.add(valuePosition(keys, path), text);
  }
  const limit = shape.max_iterations;
  if (body.shape === 'loop' && Array.isArray(items) && typeof limit === 'number' && items.length > limit) {
    const text = `${name}: there are ${items.length} items, but max_iterations is ${limit}; raise it, or give the loop fewer items`;
    faults.add(valuePosition(keys, path), text, 'loop_too_long');
  }
}

/** Faults of the tokens in a value. Tokens in keys of maps are never filled in. */
function* filledFaults(value: Json, path: KeyPath, faultOf: (token: Token) => string | null): Generator<TextFault> {
  for (const { path: at, text, isKey } of textsIn(value, path)) {
    if (isKey) {
      for (const fault of unfilledTokens({ [text]: null }, [])) yield { path: at, text: fault.text };
      continue;
    }
    try {
      for (const part of parseText(text)) {
        const fault = typeof part === 'string' ? null : faultOf(part);
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
    // The token is malformed, which is reported elsewhere.
    return true;
  }
}

function warnOfTokens(node: StepNode, value: Json, faults: Faults): void {
  for (const { path } of unfilledTokens(value, ['prompt'])) {
    const text = `${nameOf(node)}: the prompt of an agent is Liquid: write {{ issue.title }}, not \${issue.title}, which stays as it is`;
    faults.warn(valuePosition(node.keys, path), text, 'unfilled_text');
  }
}

/** Text of an issue in `source` would run as code. */
function warnOfIssueText(node: StepNode, value: Json, faults: Faults): void {
  if (typeof value !== 'string' || !/(?<!\$)\$\{\s*issue\b/.test(value)) return;
  const text = `${nameOf(node)}: source contains \${issue…}, so authors of issues could run code here; pass the text by stdin or env instead`;
  faults.warn(valuePosition(node.keys, ['source']), text, 'issue_text_in_code');
}

function reportError(error: unknown, at: Position, what: string, faults: Faults): void {
  if (!(error instanceof BatonError)) throw error;
  const rule =
    error.code === 'expression_error' ? `; compare \${…}, numbers and 'texts' with == != < > <= >=, and, or, not` : '';
  faults.add(at, `${what}: ${error.message}${rule}`, error.code);
}
