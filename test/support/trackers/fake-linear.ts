import { buildSchema, execute, GraphQLError, parse, validate } from 'graphql';
import { linearTracker } from '../../../src/tracker/linear/tracker.js';
import { connection, inputError, matches, type PageArguments, pointsOf } from './fake-linear-paging.js';
import {
  issueRecord,
  type LinearWorld,
  projectRecord,
  stateId,
  teamOf,
  teamRecord,
  userRecord,
} from './fake-linear-records.js';
import { LINEAR_SCHEMA } from './fake-linear-schema.js';
import { type FakeAnswer, type FakeRequest, type FakeServer, fakeServer } from './fake-server.js';
import { addTo, type FakeIssue, type FakeTracker } from './fake-tracker.js';

export interface FakeLinear extends FakeTracker, LinearWorld {
  readonly board: Map<string, FakeIssue>;
  readonly server: FakeServer;
  /** Headers of every response. */
  headers: { [name: string]: string };
  /** Changes are answered with `success: false`. */
  isDeaf: boolean;
  /** The clock of the adapter. */
  nowMs: number;
}

const TOKEN = 'lin_api_0123456789canary';
const MAX_POINTS = 10_000;
const schema = buildSchema(LINEAR_SCHEMA);
const STATES = ['Backlog', 'Todo', 'In Progress', 'In Review', 'Done', 'Canceled', 'Duplicate'];

/** Linear's API for one workspace: queries are parsed, checked against its schema, counted in points and then answered. */
export async function startFakeLinear(): Promise<FakeLinear> {
  const board = new Map<string, FakeIssue>();
  const naming = (n: number) => ({ id: uuid(n), identifier: `ENG-${n}` });
  const world: LinearWorld & Pick<FakeLinear, 'headers' | 'isDeaf' | 'nowMs'> = {
    board,
    extra: new Map(),
    users: new Map(),
    teams: new Map([
      ['ENG', { id: 'team-eng', key: 'ENG', name: 'Engineering', states: [...STATES] }],
      ['OPS', { id: 'team-ops', key: 'OPS', name: 'Operations', states: ['Todo', 'Waiting', 'Done'] }],
    ]),
    project: { id: 'project-1', slugId: '0123456789ab', name: 'Baton', teams: ['ENG', 'OPS'] },
    isOldestFirst: false,
    headers: {},
    isDeaf: false,
    nowMs: 0,
  };
  const server = await fakeServer((request) => answer(world, request));
  return Object.assign(world, {
    ...{ kind: 'linear', server, variable: 'LINEAR_API_KEY', token: TOKEN },
    entry: linearTracker,
    clock: () => world.nowMs,
    provider: { endpoint: `${server.url}/graphql`, project_slug: 'baton-0123456789ab' },
    add: addTo(board, naming, 'Todo'),
  });
}

export function uuid(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
}

async function answer(
  world: LinearWorld & Pick<FakeLinear, 'headers' | 'isDeaf'>,
  { method, url, headers, body }: FakeRequest,
): Promise<FakeAnswer> {
  if (method !== 'POST' || url.pathname !== '/graphql' || url.search !== '') return { status: 404, raw: 'Not found' };
  if (![TOKEN, `Bearer lin_oauth_${TOKEN}`].includes(headers.authorization ?? '')) {
    const extensions = { type: 'authentication error', code: 'AUTHENTICATION_ERROR', statusCode: 401 };
    return { status: 401, body: { errors: [{ message: 'Authentication required, not authenticated', extensions }] } };
  }
  const stranger = Object.keys(body).find((key) => key !== 'query' && key !== 'variables');
  if (stranger !== undefined) return { status: 400, body: { errors: [{ message: `Unknown field ${stranger}` }] } };
  const { query, variables = {} } = body;
  try {
    const document = parse(query);
    const faults = validate(schema, document);
    if (faults.length > 0) return { status: 400, body: { errors: faults } };
    const points = pointsOf(document, variables);
    if (points > MAX_POINTS) return { status: 400, body: { errors: [inputError('Query too complex')] } };
    const result = await execute({ schema, document, rootValue: resolvers(world), variableValues: variables });
    return { body: result, headers: { 'x-complexity': String(points), ...world.headers } };
  } catch (error) {
    if (error instanceof GraphQLError) return { status: 400, body: { errors: [error] } };
    throw error;
  }
}

type Filter = { readonly [key: string]: unknown };
type ListArguments = PageArguments & { readonly filter?: Filter };

function resolvers(world: LinearWorld & Pick<FakeLinear, 'isDeaf'>) {
  const { board } = world;
  const find = (ref: string): FakeIssue => {
    const found = board.get(ref) ?? [...board.values()].find(({ identifier }) => identifier === ref);
    if (found) return found;
    throw inputError('Entity not found: Issue', 'Could not find referenced Issue.');
  };
  return {
    viewer: () => userRecord(world, 'baton'),
    issue: ({ id }: { id: string }) => issueRecord(world, find(id)),
    issues: ({ filter = {}, ...page }: ListArguments) => {
      rejectStrangeIds(filter);
      const all = [...board.values()].map((issue) => issueRecord(world, issue)).reverse();
      const seen = all.filter((issue) => issue.archivedAt === null && issue.trashed !== true);
      return connection(
        seen.filter((issue) => matches(issue, filter)),
        page,
      );
    },
    projects: ({ filter = {}, ...page }: ListArguments) => {
      const project = projectRecord(world);
      return connection(project !== null && matches(project, filter) ? [project] : [], page);
    },
    teams: ({ filter = {}, ...page }: ListArguments) =>
      connection(
        [...world.teams.values()].map(teamRecord).filter((team) => matches(team, filter)),
        page,
      ),
    issueUpdate: ({ id, input }: { id: string; input: { stateId?: string } }) => {
      const issue = find(id);
      if (world.isDeaf) return { success: false, issue: null };
      const team = teamOf(world, issue);
      const state = team.states.find((name) => stateId(team, name) === input.stateId);
      if (state === undefined) throw inputError('Discrepancy between issue team and state team');
      issue.state = state;
      return { success: true, issue: issueRecord(world, issue) };
    },
    commentCreate: ({ input: { issueId = '', body = '' } }: { input: { issueId?: string; body?: string } }) => {
      const issue = find(issueId);
      const comment = { author: 'baton', isMember: true, body, createdAt: new Date(world.board.size).toISOString() };
      if (!world.isDeaf) issue.comments.push(comment);
      return { success: !world.isDeaf, comment: { id: 'c', updatedAt: comment.createdAt, ...comment } };
    },
  };
}

/** One id that is not a UUID fails the whole query. */
function rejectStrangeIds(filter: Filter): void {
  for (const [key, value] of Object.entries(filter)) {
    if (Array.isArray(value)) for (const each of value) rejectStrangeIds(each as Filter);
    if (key !== 'id') continue;
    const ids = Object.values(value as Filter).flat();
    const isUuid = (id: unknown) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(String(id));
    if (!ids.every(isUuid)) throw inputError('Argument Validation Error: id must be a UUID');
  }
}
