import { type DocumentNode, GraphQLError, Kind, type SelectionSetNode, type ValueNode } from 'graphql';

export interface PageArguments {
  readonly first?: number;
  readonly last?: number;
  readonly after?: string | null;
}

/** Linear's error for invalid input; its status is 200. */
export function inputError(message: string, told = message): GraphQLError {
  const extensions = {
    ...{ type: 'invalid input', code: 'INPUT_ERROR', statusCode: 400, userError: true },
    userPresentableMessage: told,
  };
  return new GraphQLError(message, { extensions });
}

/** A page of a connection. The cursor is the id of the last item on the previous page. */
export function connection<Item extends { readonly id: string }>(all: readonly Item[], page: PageArguments) {
  const { first = null, last = null, after } = page;
  if ((first ?? last ?? 50) > 250) throw inputError('Argument Validation Error: first must not be over 250');
  const start = after ? all.findIndex(({ id }) => `cursor:${id}` === after) + 1 : 0;
  if (after && start === 0) throw inputError('Invalid cursor');
  const rest = all.slice(start);
  const nodes = last !== null ? rest.slice(-last) : rest.slice(0, first ?? 50);
  const end = nodes.at(-1);
  return {
    nodes,
    pageInfo: {
      hasNextPage: last === null && nodes.length < rest.length,
      hasPreviousPage: start > 0,
      startCursor: nodes[0] === undefined ? null : `cursor:${nodes[0].id}`,
      endCursor: end === undefined ? null : `cursor:${end.id}`,
    },
  };
}

type Filter = { readonly [key: string]: unknown };

/** Linear's filters, as far as the schema of the fake has them. `eq` and `in` are case-sensitive. */
export function matches(value: unknown, filter: Filter): boolean {
  return Object.entries(filter).every(([key, wanted]) => {
    if (wanted === null || wanted === undefined) return true;
    if (key === 'and') return (wanted as Filter[]).every((each) => matches(value, each));
    if (key === 'or') return (wanted as Filter[]).some((each) => matches(value, each));
    if (key === 'eq') return value === wanted;
    if (key === 'in') return (wanted as unknown[]).includes(value);
    if (key === 'eqIgnoreCase') return String(value).toLowerCase() === String(wanted).toLowerCase();
    return value !== null && matches((value as Filter)[key], wanted as Filter);
  });
}

/** The complexity of a query: a field is 0.1 points, an object 1 point, a list its content times its page size. */
export function pointsOf(document: DocumentNode, variables: Filter): number {
  const fragments = new Map(
    document.definitions.flatMap((each) =>
      each.kind === Kind.FRAGMENT_DEFINITION ? [[each.name.value, each]] : [],
    ) as [string, { readonly selectionSet: SelectionSetNode }][],
  );
  const argumentOf = (value: ValueNode): unknown => {
    if (value.kind === Kind.VARIABLE) return variables[value.name.value];
    return value.kind === Kind.INT ? Number(value.value) : null;
  };
  const inside = ({ selections }: SelectionSetNode, size: number): number =>
    selections.reduce((sum, node) => {
      if (node.kind === Kind.INLINE_FRAGMENT) return sum + inside(node.selectionSet, size);
      if (node.kind === Kind.FRAGMENT_SPREAD) {
        const fragment = fragments.get(node.name.value);
        return fragment === undefined ? sum : sum + inside(fragment.selectionSet, size);
      }
      if (!node.selectionSet) return sum + 0.1;
      if (node.name.value === 'nodes') return sum + size * (1 + inside(node.selectionSet, 0));
      const asked = node.arguments?.find(({ name }) => name.value === 'first' || name.value === 'last');
      const length = asked === undefined ? 50 : Number(argumentOf(asked.value) ?? 50);
      return sum + 1 + inside(node.selectionSet, length);
    }, 0);
  const operations = document.definitions.flatMap((each) => (each.kind === Kind.OPERATION_DEFINITION ? [each] : []));
  return Math.ceil(operations.reduce((sum, { selectionSet }) => sum + inside(selectionSet, 0), 0));
}
