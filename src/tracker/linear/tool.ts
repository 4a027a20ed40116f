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

async function plan(api: LinearApi, isReadOnly: boolean, input: Fields, signal: AbortSignal): Promise<RawCall> {
  const query = textOf(input.query);
  if (query === null || query.trim() === '')
    throw new ToolRefusal(`${NAME} needs query: a text with one GraphQL operation.`);
  const { variables = null } = input;
  if (variables !== null && (typeof variables !== 'object' || Array.isArray(variables))) {
    throw new ToolRefusal('variables must be an object.');
  }
  const kinds = await operationsIn(query);
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
 * The kinds of the operations in a GraphQL document, or a sentence about why it is refused. A document that the parser does not
 * understand is refused, and so is one that defines anything but operations and fragments.
 */
export async function operationsIn(document: string): Promise<readonly OperationKind[] | string> {
  // Most runs never call the tool, so that the parser is loaded with the first call.
  const { parse } = await import('graphql/language/parser.js');
  try {
    const { definitions } = parse(document, { noLocation: true });
    const kinds: OperationKind[] = [];
    for (const definition of definitions) {
      if (definition.kind === 'OperationDefinition') kinds.push(definition.operation);
      else if (definition.kind !== 'FragmentDefinition') return `query holds a ${definition.kind}`;
    }
    return kinds;
  } catch (error) {
    // The parser recurses: a document that is nested very deep exhausts the stack.
    return `query cannot be parsed: ${error instanceof RangeError ? 'it is nested too deep' : (error as Error).message}`;
  }
}
