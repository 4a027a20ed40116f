import { BatonError } from '../../domain/errors.js';
import { stateKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, textOf } from '../../domain/json.js';
import type { HttpReading } from '../http/tracker-http.js';
import { type LinearApi, nodesOf } from './api.js';
import { SCOPE_QUERY } from './queries.js';
import type { LinearSettings } from './settings.js';

/** The account of the key, and the project, team and states that the settings name. */
export interface LinearScope {
  readonly viewer: { readonly id: string; readonly name: string };
  readonly project: { readonly id: string; readonly name: string; readonly teams: readonly string[] } | null;
  readonly team: { readonly id: string; readonly key: string; readonly name: string } | null;
  /** The names of all states of an issue in this scope, in the order of the board. */
  readonly states: readonly string[];
}

/** At start a missing project is a configuration error; later it means that the key has lost its access. */
type MissingCode = 'invalid_tracker_config' | 'tracker_auth';

const MAX_AGE_MS = 3_600_000;
/** After an issue in an unknown state: reload early, but not at every poll. */
const MAX_AGE_OUTDATED_MS = 60_000;

/**
 * Caches the scope. It is empty before the first read, fresh for an hour, and outdated as soon as an issue is in a state that
 * it does not know.
 */
export class ScopeCache {
  #cached: { readonly scope: LinearScope; readonly atMs: number } | null = null;
  #isOutdated = false;

  constructor(
    private readonly api: LinearApi,
    private readonly settings: LinearSettings,
    private readonly nowMs: () => number,
  ) {}

  get states(): readonly string[] {
    return this.#cached?.scope.states ?? [];
  }

  async read(reading: HttpReading): Promise<LinearScope> {
    const maxAgeMs = this.#isOutdated ? MAX_AGE_OUTDATED_MS : MAX_AGE_MS;
    const isFresh = this.#cached !== null && this.nowMs() - this.#cached.atMs < maxAgeMs;
    return this.#cached !== null && isFresh ? this.#cached.scope : this.load(reading, 'tracker_auth');
  }

  async load(reading: HttpReading, missing: MissingCode): Promise<LinearScope> {
    const { project, team } = this.settings;
    const slugs = project?.candidates ?? [];
    const data = await this.api.query(reading, {
      query: SCOPE_QUERY,
      variables: {
        byProject: project !== null,
        byTeam: team !== null,
        ...(project === null ? {} : { project: { or: slugs.map((slugId) => ({ slugId: { eq: slugId } })) } }),
        ...(team === null ? {} : { team: { key: { eqIgnoreCase: team } } }),
      },
    });
    const scope = this.#scopeIn(data, missing);
    this.#cached = { scope, atMs: this.nowMs() };
    this.#isOutdated = false;
    return scope;
  }

  /** Takes the states of issues just read: an unknown one means that the board was changed. */
  noteStates(names: readonly string[]): void {
    const known = new Set(this.states.map(stateKey));
    if (names.some((name) => !known.has(stateKey(name)))) this.#isOutdated = true;
  }

  /** Throws when an answer no longer contains the scope: then its list of issues proves nothing. */
  requireVisible(scope: LinearScope, data: Fields): void {
    const isVisible = (entity: { readonly id: string } | null, list: string) =>
      entity === null || nodesOf(data, list).some((node) => fieldsOf(node).id === entity.id);
    const isProjectVisible = isVisible(scope.project, 'projects');
    if (isProjectVisible && isVisible(scope.team, 'teams')) return;
    this.#cached = null;
    throw this.#notFound(isProjectVisible ? 'team' : 'project_slug', 'tracker_auth');
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
    const target = key === 'team' ? `team ${team}` : `project ${project?.candidates.at(-1)}`;
    const hint =
      key === 'team'
        ? 'It is the part of an identifier before the dash: ENG in ENG-12.'
        : 'It is the last part of the address that "Copy project URL" gives: https://linear.app/<workspace>/project/<slug>.';
    const message = `Linear shows no ${target} to the key of ${this.api.tokenFrom}: it does not exist, is archived, or the key has no access to it. Fix tracker.provider.${key}. ${hint}`;
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

/** The columns of a board, from left to right. Within a column, states are sorted by position. */
const STATE_TYPES = ['triage', 'backlog', 'unstarted', 'started', 'completed', 'canceled', 'duplicate'];

function stateNames(teams: readonly Fields[]): readonly string[] {
  const states = teams.flatMap((team) => nodesOf(team, 'states').map(fieldsOf));
  const sortable = states.flatMap(({ name, type, position: written }) => {
    const text = textOf(name)?.trim() ?? '';
    const column = STATE_TYPES.indexOf(textOf(type) ?? '');
    const position = typeof written === 'number' ? written : 0;
    return text === '' ? [] : [{ name: text, column: column === -1 ? STATE_TYPES.length : column, position }];
  });
  const sorted = sortable.sort((one, other) => one.column - other.column || one.position - other.position);
  return [...new Map(sorted.map(({ name }) => [stateKey(name), name])).values()];
}
