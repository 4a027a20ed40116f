import { type Fields, fieldsOf, textOf } from '../../domain/json.js';
import type { HostTool } from '../../domain/ports.js';
import type { RawToolMode } from '../provider-settings.js';
import { type RawCall, rawTool, ToolRefusal } from '../raw-tool.js';
import type { LinearApi } from './api.js';
import { STATE_QUERY } from './queries.js';

const NAME = 'linear_graphql';

interface LinearToolOptions {
  readonly api: LinearApi;
  readonly mode: Exclude<RawToolMode, 'off'>;
  mask(text: string): string;
}

/** The whole API of Linear with our key. Some Symphony workflows send the query alone instead of an object. */
export function linearTool({ api, mode, mask }: LinearToolOptions): HostTool {
  const isReadOnly = mode === 'read_only';
  const tool = rawTool({
    name: NAME,
    description:
      `Send one GraphQL ${isReadOnly ? 'query' : 'query or mutation'} to Linear. ` +
      'It reaches everything that the key of this installation may see, other projects too: keep to your own issue. ' +
      'Example: {"query": "query($id: String!) { issue(id: $id) { title comments { nodes { body } } } }", "variables": {"id": "ENG-12"}}. ' +
      'To move or comment on your issue, update_issue is enough.',
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          description: `A document with exactly one ${isReadOnly ? 'query' : 'operation'}.`,
        },
        variables: { type: ['object', 'null'], description: 'Values for its variables.', additionalProperties: true },
      },
      required: ['query'],
      additionalProperties: false,
    },
    mask,
    plan: (input, signal) => plan(api, isReadOnly, input, signal),
    stateOf: async (id, signal) => {
      const { issue } = await api.query(api.reading(signal), { query: STATE_QUERY, variables: { id } });
      return textOf(fieldsOf(fieldsOf(issue).state).name);
    },
  });
  return {
    ...tool,
    call: (input, context) => tool.call(typeof input === 'string' ? { query: input } : input, context),
  };
}

function plan(api: LinearApi, isReadOnly: boolean, input: Fields, signal: AbortSignal): RawCall {
  const query = textOf(input.query);
  if (query === null || query.trim() === '')
    throw new ToolRefusal(`${NAME} needs query: a text with one GraphQL operation.`);
  const { variables = null } = input;
  if (variables !== null && (typeof variables !== 'object' || Array.isArray(variables))) {
    throw new ToolRefusal('variables must be an object.');
  }
  const kinds = operationsIn(query);
  if (typeof kinds === 'string') throw new ToolRefusal(`${kinds}. Send one query or mutation.`);
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) {
    throw new ToolRefusal(`query must hold exactly one operation, it holds ${kinds.length}.`);
  }
  if (kind === 'subscription') throw new ToolRefusal('Subscriptions are not possible here. Ask again with a query.');
  if (kind === 'mutation' && isReadOnly) {
    throw new ToolRefusal(
      'Only queries are allowed here (tracker.provider.raw_tool is read_only). Use update_issue to move or comment on your issue.',
    );
  }
  const send = async () => {
    const { body } = await api.send({ query, variables: fieldsOf(variables) }, signal);
    return { ok: isGood(body), body };
  };
  return { isChange: kind === 'mutation', send };
}

/** Errors come with 200 as well, beside what could be answered. */
function isGood(body: unknown): boolean {
  const { data, errors } = fieldsOf(body);
  const hasErrors = Array.isArray(errors) ? errors.length > 0 : errors !== undefined && errors !== null;
  return !hasErrors && typeof data === 'object' && data !== null;
}

type OperationKind = 'query' | 'mutation' | 'subscription';

/**
 * The kinds of operation in a GraphQL document, or what is wrong with it. It is read only as far as that takes: comments and
 * texts are skipped exactly as the language has them, so that nothing can hide in them, and whatever is not understood is refused.
 */
export function operationsIn(document: string): readonly OperationKind[] | string {
  const tokens = tokensOf(document);
  if (tokens === null) return 'query holds a text that does not end, or characters that GraphQL does not have';
  const kinds: OperationKind[] = [];
  let at = 0;
  while (at < tokens.length) {
    const word = tokens[at] ?? '';
    if (word === '{') kinds.push('query');
    else if (isKind(word)) kinds.push(word);
    else if (word !== 'fragment') return `query holds ${JSON.stringify(word)} where an operation should begin`;
    const end = endOfDefinition(tokens, at);
    if (end === null) return 'query holds brackets that do not close';
    at = end;
  }
  return kinds;
}

const PAIRS: { readonly [open: string]: string } = { '{': '}', '(': ')', '[': ']' };

/** After the selection in braces that ends the definition. Braces inside of parentheses are values. */
function endOfDefinition(tokens: readonly string[], start: number): number | null {
  const open: string[] = [];
  for (let at = start; at < tokens.length; at++) {
    const token = tokens[at] ?? '';
    const close = PAIRS[token];
    if (close !== undefined) open.push(close);
    else if (token === '}' || token === ')' || token === ']') {
      if (open.pop() !== token) return null;
      if (open.length === 0 && token === '}') return at + 1;
    }
  }
  return null;
}

const IGNORED = /(?:[\uFEFF \t\n\r,]|#[^\n\r]*)+/y;
const BLOCK_TEXT = /"""(?:\\"""|[^"\\]|\\(?!""")|"(?!""))*"""/y;
const TEXT = /"(?:[^"\\\n\r]|\\[^\n\r])*"/y;
const WORD = /\.\.\.|[A-Za-z_][A-Za-z0-9_]*|-?[0-9][A-Za-z0-9_.+-]*|[!$&():=@[\]{|}]/y;

/** Words and signs; texts are left out. `null`: it cannot be read. */
function tokensOf(document: string): readonly string[] | null {
  const tokens: string[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const [found = null] = pattern.exec(document) ?? [];
    if (found !== null) at += found.length;
    return found;
  };
  while (at < document.length) {
    if (take(IGNORED) !== null) continue;
    if (document.startsWith('"""', at)) {
      if (take(BLOCK_TEXT) === null) return null;
    } else if (document[at] === '"') {
      if (take(TEXT) === null) return null;
    } else {
      const word = take(WORD);
      if (word === null) return null;
      tokens.push(word);
    }
  }
  return tokens;
}

function isKind(word: string): word is OperationKind {
  return word === 'query' || word === 'mutation' || word === 'subscription';
}
