import { BatonError } from '../../domain/errors.js';
import { stateKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, textOf } from '../../domain/json.js';
import type { HttpReading } from '../http/tracker-http.js';
import type { LinearApi } from './api.js';
import { nodesOf } from './api.js';
import { SCOPE_QUERY } from './queries.js';
import type { LinearSettings } from './settings.js';

/** What is looked at, as Linear has it. */
export interface LinearScope {
  readonly viewer: { readonly id: string; readonly name: string };
  readonly project: { readonly id: string; readonly name: string; readonly teams: readonly string[] } | null;
  readonly team: { readonly id: string; readonly key: string; readonly name: string } | null;
  /** The names of all states that an issue in it can be in, in the order of the board. */
  readonly states: readonly string[];
}

/** What must not start is `invalid_tracker_config`; what stops to work later on is about the rights of the token. */
type MissingCode = 'invalid_tracker_config' | 'tracker_auth';

const FRESH_MS = 3_600_000;
/** A state that nobody knows is looked up at once, but not with every poll. */
const RETRY_MS = 60_000;

/** Project, team and states, asked for with the first read and once an hour, or as soon as a new state shows up. */
export class ScopeReader {
  #known: { readonly scope: LinearScope; readonly atMs: number } | null = null;
  #isOutdated = false;

  constructor(
    private readonly api: LinearApi,
    private readonly settings: LinearSettings,
    private readonly nowMs: () => number,
  ) {}

  get states(): readonly string[] {
    return this.#known?.scope.states ?? [];
  }

  async get(reading: HttpReading): Promise<LinearScope> {
    const ageMs = this.#known === null ? Number.POSITIVE_INFINITY : this.nowMs() - this.#known.atMs;
    const isFresh = ageMs < (this.#isOutdated ? RETRY_MS : FRESH_MS);
    return this.#known !== null && isFresh ? this.#known.scope : this.load(reading, 'tracker_auth');
  }

  async load(reading: HttpReading, missing: MissingCode): Promise<LinearScope> {
    const { project, team } = this.settings;
    const slugs = project?.candidates ?? [];
    const data = await this.api.ask(reading, {
      query: SCOPE_QUERY,
      variables: {
        byProject: project !== null,
        byTeam: team !== null,
        ...(project === null ? {} : { project: { or: slugs.map((slugId) => ({ slugId: { eq: slugId } })) } }),
        ...(team === null ? {} : { team: { key: { eqIgnoreCase: team } } }),
      },
    });
    const scope = this.#scopeIn(data, missing);
    this.#known = { scope, atMs: this.nowMs() };
    this.#isOutdated = false;
    return scope;
  }

  /** The states of issues just read: an unknown one means that somebody has changed the board. */
  noteStates(names: readonly string[]): void {
    const known = new Set(this.states.map(stateKey));
    if (names.some((name) => !known.has(stateKey(name)))) this.#isOutdated = true;
  }

  /** Throws when an answer does not show the scope any more: then its list proves nothing. */
  assertShown(scope: LinearScope, data: Fields): void {
    const isShown = (entity: { readonly id: string } | null, list: string) =>
      entity === null || nodesOf(data, list).some((node) => fieldsOf(node).id === entity.id);
    if (isShown(scope.project, 'projects') && isShown(scope.team, 'teams')) return;
    this.#known = null;
    throw this.#notFound(isShown(scope.project, 'projects') ? 'team' : 'project_slug', 'tracker_auth');
  }

  #scopeIn(data: Fields, missing: MissingCode): LinearScope {
    const { id: viewerId, displayName, name, email } = fieldsOf(data.viewer);
    const id = textOf(viewerId);
    if (id === null)
      throw new BatonError('tracker_response', 'Linear does not say whose key this is: its answer has no viewer.');
    const project = this.settings.project === null ? null : entityIn(data, 'projects');
    const team = this.settings.team === null ? null : entityIn(data, 'teams');
    if (this.settings.project !== null && project === null) throw this.#notFound('project_slug', missing);
    if (this.settings.team !== null && team === null) throw this.#notFound('team', missing);
    const teams = project === null ? [] : nodesOf(project.fields, 'teams').map(fieldsOf);
    return {
      viewer: { id, name: textOf(displayName) ?? textOf(name) ?? textOf(email) ?? id },
      project: project && {
        id: project.id,
        name: project.name,
        teams: teams.flatMap(({ key }) => textOf(key) ?? []),
      },
      team: team && { id: team.id, name: team.name, key: textOf(team.fields.key) ?? team.name },
      states: stateNames(team === null ? teams : [team.fields]),
    };
  }

  #notFound(key: 'project_slug' | 'team', code: MissingCode): BatonError {
    const { project, team } = this.settings;
    const what = key === 'team' ? `team ${team}` : `project ${project?.candidates.at(-1)}`;
    const how =
      key === 'team'
        ? 'It is the part of an identifier before the dash: ENG in ENG-12.'
        : 'It is the last part of the address that "Copy project URL" gives: https://linear.app/<workspace>/project/<slug>.';
    const message = `Linear shows no ${what} to the key of ${this.api.tokenFrom}: it does not exist, is archived, or the key has no access to it. Fix tracker.provider.${key}. ${how}`;
    return new BatonError(code, message);
  }
}

interface Entity {
  readonly id: string;
  readonly name: string;
  readonly fields: Fields;
}

function entityIn(data: Fields, list: string): Entity | null {
  const [node] = nodesOf(data, list);
  if (node === undefined) return null;
  const fields = fieldsOf(node);
  const id = textOf(fields.id);
  if (id === null) throw new BatonError('tracker_response', `Linear answered with ${list} that have no id.`);
  return { id, name: textOf(fields.name) ?? id, fields };
}

/** In the order of a board: by what a state means, and within that by its place. */
const TYPES = ['triage', 'backlog', 'unstarted', 'started', 'completed', 'canceled', 'duplicate'];

function stateNames(teams: readonly Fields[]): readonly string[] {
  const states = teams.flatMap((team) => nodesOf(team, 'states').map(fieldsOf));
  const placed = states.flatMap(({ name, type, position }) => {
    const text = textOf(name)?.trim() ?? '';
    const column = TYPES.indexOf(textOf(type) ?? '');
    const place = typeof position === 'number' ? position : 0;
    return text === '' ? [] : [{ name: text, column: column === -1 ? TYPES.length : column, place }];
  });
  const inOrder = placed.sort((one, other) => one.column - other.column || one.place - other.place);
  return [...new Map(inOrder.map(({ name }) => [stateKey(name), name])).values()];
}
