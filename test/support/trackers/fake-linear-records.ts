import { connection, type PageArguments } from './fake-linear-paging.js';
import type { FakeIssue } from './fake-tracker.js';

export interface FakeTeam {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  states: string[];
  /** The types of states other than `started`. */
  types?: { readonly [state: string]: string };
}

export interface FakeUser {
  name?: string;
  email?: string;
  active?: boolean;
  guest?: boolean;
  app?: boolean;
}

/** Fields of an issue that only Linear has. */
export interface LinearExtra {
  team?: string;
  /** `null`: the issue has no project. */
  project?: string | null;
  archivedAt?: string;
  trashed?: boolean;
  /** Relations other than blockers: the type and the other issue. */
  relations?: { readonly type: string; readonly id: string }[];
  /** An external author; the issue itself names a member. */
  requester?: string;
  /** An integration that created the issue under a member's name. */
  bot?: string;
}

/** The data behind the API. An author with the prefix `@` is external; the prefix `bot:` marks an integration. */
export interface LinearWorld {
  readonly board: Map<string, FakeIssue>;
  readonly extra: Map<string, LinearExtra>;
  readonly teams: Map<string, FakeTeam>;
  readonly users: Map<string, FakeUser>;
  /** The project in scope; `null`: deleted, or not visible to this key. */
  project: { id: string; slugId: string; name: string; teams: string[] } | null;
  /** Linear sends the newest first, but does not document this order. */
  isOldestFirst: boolean;
}

export function userRecord(world: LinearWorld, login: string, isMember = true) {
  const { name, email, active, guest, app } = world.users.get(login) ?? {};
  return {
    ...{ id: `user-${login}`, displayName: login, admin: false, isMe: login === 'baton' },
    name: name ?? `Full ${login}`,
    email: email ?? `${login}@example.org`,
    active: active ?? true,
    guest: guest ?? !isMember,
    app: app ?? false,
  };
}

export function teamRecord(team: FakeTeam) {
  return {
    ...{ id: team.id, key: team.key, name: team.name },
    states: (page: PageArguments) =>
      connection(
        team.states.map((name) => stateRecord(team, name)),
        page,
      ),
  };
}

export function projectRecord(world: LinearWorld) {
  const { project } = world;
  if (project === null) return null;
  const teams = project.teams.flatMap((key) => world.teams.get(key) ?? []);
  return { ...project, teams: (page: PageArguments) => connection(teams.map(teamRecord), page) };
}

export function issueRecord(world: LinearWorld, issue: FakeIssue) {
  const extra = world.extra.get(issue.id) ?? {};
  const team = teamOf(world, issue);
  const projectId = extra.project === undefined ? world.project?.id : extra.project;
  return {
    ...{ id: issue.id, identifier: issue.identifier, number: Number(issue.identifier.split('-').at(-1)) },
    title: issue.isMalformed ? '' : issue.title,
    description: issue.description,
    priority: issue.priority ?? 0,
    priorityLabel: 'Some',
    branchName: `ann/${issue.identifier.toLowerCase()}`,
    url: `https://linear.app/acme/issue/${issue.identifier}`,
    createdAt: issue.createdAt,
    updatedAt: issue.updatedAt,
    archivedAt: extra.archivedAt ?? null,
    trashed: extra.trashed ?? null,
    state: stateRecord(team, issue.state),
    team: teamRecord(team),
    project: projectId === null ? null : { id: projectId, slugId: world.project?.slugId ?? 'other', name: 'Some' },
    assignee: issue.assignee === null ? null : userRecord(world, issue.assignee),
    creator: isAccount(issue.author) ? userRecord(world, issue.author, issue.isMember) : null,
    externalUserCreator: externalRecord(issue.author),
    asksExternalUserRequester: extra.requester === undefined ? null : externalRecord(extra.requester),
    botActor: botRecord(extra.bot ?? issue.author),
    labels: (page: PageArguments) =>
      connection(
        issue.labels.map((name) => ({ id: `label-${name}`, name })),
        page,
      ),
    inverseRelations: (page: PageArguments) => connection(relations(world, issue), page),
    comments: (page: PageArguments) => connection(comments(world, issue), page),
  };
}

export function teamOf(world: LinearWorld, issue: FakeIssue): FakeTeam {
  const key = world.extra.get(issue.id)?.team ?? issue.identifier.split('-')[0] ?? '';
  const team = world.teams.get(key);
  if (!team) throw new Error(`the fake has no team ${key}`);
  return team;
}

export function stateId(team: FakeTeam, name: string): string {
  return `state-${team.key}-${name}`;
}

function stateRecord(team: FakeTeam, name: string) {
  const position = team.states.indexOf(name);
  return {
    id: stateId(team, name),
    name,
    type: team.types?.[name] ?? 'started',
    position,
    team: () => teamRecord(team),
  };
}

function relations(world: LinearWorld, issue: FakeIssue) {
  const blocks = issue.blockedBy.map((id) => ({ type: 'blocks', id }));
  return [...blocks, ...(world.extra.get(issue.id)?.relations ?? [])].flatMap(({ type, id }, n) => {
    const other = world.board.get(id);
    if (!other) return [];
    const both = { issue: () => issueRecord(world, other), relatedIssue: () => issueRecord(world, issue) };
    return [{ id: `relation-${n}`, type, ...both }];
  });
}

function comments(world: LinearWorld, issue: FakeIssue) {
  const all = issue.comments.map(({ author, isMember, body, createdAt }, n) => ({
    ...{ id: `comment-${n}`, body, createdAt, updatedAt: createdAt },
    user: isAccount(author) ? userRecord(world, author, isMember) : null,
    externalUser: externalRecord(author),
    botActor: botRecord(author),
  }));
  return world.isOldestFirst ? all : all.reverse();
}

function isAccount(author: string): boolean {
  return author !== '' && !author.startsWith('@') && !author.startsWith('bot:');
}

function externalRecord(author: string) {
  if (!author.startsWith('@')) return null;
  return { id: `external-${author}`, name: author.slice(1), displayName: author.slice(1), email: null };
}

function botRecord(author: string) {
  return author.startsWith('bot:') ? { id: null, type: 'sentry', name: author.slice(4) } : null;
}
