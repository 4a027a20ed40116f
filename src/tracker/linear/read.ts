import { BatonError } from '../../domain/errors.js';
import { type Fields, fieldsOf, textOf } from '../../domain/fields.js';
import { type Issue, stateKey } from '../../domain/issue.js';
import type { HttpReading } from '../http/tracker-http.js';
import { listed, type NormalisedList, type Tried, tryNormalise } from '../normalise-batch.js';
import { readPages } from '../read-pages.js';
import { type LinearApi, NAME } from './api.js';
import type { LinearScope, ScopeReader } from './scope.js';
import { isCutOff, isPutAway, nodeToIssue, type Reader } from './node-to-issue.js';
import { nextCursor, nodesOf } from './nodes.js';
import { ISSUES_QUERY, PAGE } from './queries.js';

const FIRST_GUESS = 50;
const MIN_PAGE = 10;
/** Room for new issues in the page that is expected to hold them all. */
const SPARE = 5;

export interface ReadOrder {
  readonly scope: LinearScope;
  readonly reading: HttpReading;
  readonly reader: Reader;
}

/** Made of each node when its page comes. */
interface Found {
  readonly id: string | null;
  readonly tried: Tried;
  readonly isCutOff: boolean;
  readonly isPutAway: boolean;
}

/**
 * Issues of the scope. What a page costs depends on how many issues it could hold: the first is
 * therefore only as large as the last list was, which makes the usual poll of a small board cheap.
 */
export class IssueReader {
  #expected = FIRST_GUESS;

  constructor(
    private readonly api: LinearApi,
    private readonly scopes: ScopeReader,
  ) {}

  /** What is no issue is told and skipped. */
  async byStates(states: readonly string[], order: ReadOrder): Promise<NormalisedList> {
    const wanted = new Map(states.map((state) => [stateKey(state), state.trim()]));
    const names = [...wanted.values()].map((name) => ({ name: { eqIgnoreCase: name } }));
    const first = Math.min(PAGE.issues, Math.max(MIN_PAGE, this.#expected));
    const found = await this.#read([{ state: { or: names } }], first, order);
    this.#expected = found.length + SPARE;
    return listed(found.filter((one) => one instanceof BatonError || wanted.has(stateKey(one.state))));
  }

  /** By id or identifier. What can be neither is no issue of Linear's. Throws where one that was told makes no sense. */
  async byRefs(refs: readonly string[], order: ReadOrder): Promise<readonly Issue[]> {
    const found = new Map<string, Issue>();
    const asked = [...new Set(refs.map((ref) => ref.trim()))].filter((ref) => isId(ref) || numbered(ref) !== null);
    for (let at = 0; at < asked.length; at += PAGE.ids) {
      const batch = asked.slice(at, at + PAGE.ids);
      const ids = batch.filter(isId);
      const either = [
        ...(ids.length === 0 ? [] : [{ id: { in: ids } }]),
        ...batch.flatMap((ref) => numbered(ref) ?? []),
      ];
      for (const one of await this.#read([{ or: either }], batch.length, order)) {
        if (one instanceof BatonError) throw one;
        found.set(one.id, one);
      }
    }
    return [...found.values()];
  }

  async #read(conditions: readonly Fields[], first: number, order: ReadOrder): Promise<readonly Tried[]> {
    const found = await this.#pages(conditions, { first, nested: PAGE.nested }, order);
    const cutOff = found.filter(isCutShort).map(({ id }) => id);
    const whole = new Map<string, Found>();
    for (let at = 0; at < cutOff.length; at += PAGE.deepIssues) {
      const ids = cutOff.slice(at, at + PAGE.deepIssues);
      const page = { first: ids.length, nested: PAGE.deep };
      for (const one of await this.#pages([{ id: { in: ids } }], page, order)) whole.set(one.id ?? '', one);
    }
    // One that was not there any more when it was read again has left the scope.
    const all = found.map((one) => (isCutShort(one) ? whole.get(one.id) : one));
    return all.filter((one) => one !== undefined && !one.isPutAway).map((one) => (one as Found).tried);
  }

  async #pages(
    conditions: readonly Fields[],
    { first, nested }: { readonly first: number; readonly nested: number },
    { scope, reading, reader }: ReadOrder,
  ): Promise<readonly Found[]> {
    const { project, team } = scope;
    const within = [
      ...(project === null ? [] : [{ project: { id: { eq: project.id } } }]),
      ...(team === null ? [] : [{ team: { id: { eq: team.id } } }]),
    ];
    const shown = {
      byProject: project !== null,
      byTeam: team !== null,
      ...(project === null ? {} : { project: { id: { eq: project.id } } }),
      ...(team === null ? {} : { team: { id: { eq: team.id } } }),
    };
    const isDeep = nested > PAGE.nested;
    return readPages<Found, string>({
      name: NAME,
      first: '',
      idOf: ({ id }) => id,
      read: async (after) => {
        const data = await this.api.ask(reading, {
          query: ISSUES_QUERY,
          variables: {
            ...shown,
            nested,
            filter: { and: [...within, ...conditions] },
            // More than expected: then the rest comes in full pages.
            first: after === '' || isDeep ? first : PAGE.issues,
            after: after === '' ? null : after,
          },
        });
        this.scopes.assertShown(scope, data);
        return {
          items: nodesOf(data, 'issues').map((node) => readNode(fieldsOf(node), reader)),
          next: nextCursor(data, 'issues'),
        };
      },
    });
  }
}

function isCutShort(found: Found): found is Found & { readonly id: string } {
  return found.isCutOff && found.id !== null;
}

function readNode(node: Fields, reader: Reader): Found {
  const tried = tryNormalise(nodeToIssue(node, reader));
  return { id: textOf(node.id), tried, isCutOff: isCutOff(node), isPutAway: isPutAway(node) };
}

/** Linear answers what is no UUID with an error for the whole question. */
function isId(ref: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(ref);
}

/** ENG-12: the 12th issue of the team ENG. */
function numbered(ref: string): Fields | null {
  const [, key, digits] = /^([A-Za-z][A-Za-z0-9_]{0,49})-(\d{1,9})$/.exec(ref) ?? [];
  if (key === undefined || digits === undefined) return null;
  return { team: { key: { eqIgnoreCase: key } }, number: { eq: Number(digits) } };
}
