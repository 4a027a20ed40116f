import { type Fields, fieldsOf, textOf } from '../../domain/fields.js';
import type { HostTool } from '../../domain/ports.js';
import type { RawToolMode } from '../provider-settings.js';
import { type RawCall, rawTool, ToolRefusal } from '../raw-tool.js';
import { operationsIn } from './graphql-operation.js';
import type { LinearApi } from './api.js';
import { STATE_QUERY } from './queries.js';

const NAME = 'linear_graphql';

export interface GraphqlToolOptions {
  readonly api: LinearApi;
  readonly mode: Exclude<RawToolMode, 'off'>;
  mask(text: string): string;
}

/** Linear's whole API with our key. Workflows of OpenAI's Symphony call it, some with the query alone in place of an object. */
export function graphqlTool({ api, mode, mask }: GraphqlToolOptions): HostTool {
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
      const { issue } = await api.ask(api.reading(signal), { query: STATE_QUERY, variables: { id } });
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
