import { BatonError } from '../../domain/errors.js';
import { stateKey } from '../../domain/issue.js';
import type { IssueBatch } from '../../domain/ports.js';
import type { HttpReading } from '../http/tracker-http.js';
import { someOf } from '../normalise-batch.js';
import { type CompleteOrder, completeIssues, type FoundIssue } from './complete-issues.js';
import { GITLAB, type GitlabApi } from './api.js';
import { type GitlabIssue, readGitlabIssue } from './issue.js';
import { CLOSED } from './own-states.js';
import type { Project } from './project.js';
import { readList } from './read-list.js';
import { type Mapping, stateRivalry, toIssue } from './to-issue.js';

export interface ReadOrder extends CompleteOrder {
  readonly api: GitlabApi;
  readonly project: Project;
  readonly mapping: Mapping;
}

/** An issue, or what is wrong with it. */
interface Mapped {
  readonly gitlab: GitlabIssue;
  readonly found: FoundIssue | null;
  readonly problem: string | null;
}

/** So many fit into an address. */
const BATCH = 50;
/** Each takes a request or two, the first time. */
const MAX_HISTORIES = 200;

/** `states`: in the spelling of `LabelStates`, at least one. */
export async function readByStates(states: readonly string[], order: ReadOrder): Promise<IssueBatch> {
  const { api, reading, project, mapping, blockers } = order;
  const wanted = new Set(states.map(stateKey));
  const state = wanted.has(CLOSED) ? (wanted.size === 1 ? 'closed' : 'all') : 'opened';
  const read = await readList(api, reading, {
    segments: ['issues'],
    query: Object.entries({ state, scope: 'all', order_by: 'created_at', sort: 'asc' }),
    parse: readGitlabIssue,
    read: (gitlab) => ({ iid: gitlab.iid, mapped: mapWanted(gitlab, wanted, mapping) }),
    idOf: ({ iid }) => (iid === null ? null : String(iid)),
  });
  if (read.length === 0) await project.proveGone(reading);
  const kept = read.flatMap(({ mapped }) => mapped ?? []);
  const issues = await completeIssues(
    kept.flatMap(({ found }) => found ?? []),
    order,
    MAX_HISTORIES,
  );
  const problems = [
    ...(blockers.problem === null ? [] : [blockers.problem]),
    ...kept.flatMap(({ gitlab, problem }) => problem ?? stateRivalry(gitlab, mapping.states) ?? []),
  ];
  return { issues, unknown: [], problems: someOf(problems), ...reading.rateLimit };
}

export async function readByNumbers(iids: readonly number[], order: ReadOrder): Promise<IssueBatch> {
  const { api, reading, project, mapping } = order;
  const records: GitlabIssue[] = [];
  for (let at = 0; at < iids.length; at += BATCH) {
    const batch = iids.slice(at, at + BATCH);
    const asked = new Set(batch);
    const answer = await readList(api, reading, {
      segments: ['issues'],
      query: [...batch.map((iid) => ['iids[]', String(iid)] as const), ['scope', 'all'], ['state', 'all']],
      parse: readGitlabIssue,
      read: (gitlab) => gitlab,
      idOf: ({ iid }) => (iid === null ? null : String(iid)),
    });
    records.push(...answer.filter(({ iid }) => iid === null || asked.has(iid)));
  }
  const seen = new Set(records.map(({ iid }) => iid));
  if (iids.some((iid) => !seen.has(iid))) await project.proveGone(reading);
  const found = records.filter(({ isWork }) => isWork).map((gitlab) => ({ gitlab, issue: toIssue(gitlab, mapping) }));
  const problems = found.flatMap(({ gitlab }) => stateRivalry(gitlab, mapping.states) ?? []);
  const issues = await completeIssues(found, order, Number.POSITIVE_INFINITY);
  return { issues, unknown: [], problems: someOf(problems), ...reading.rateLimit };
}

/** `null`: it is not there, or the token may not see it. */
export async function readOne(iid: number, api: GitlabApi, reading: HttpReading): Promise<GitlabIssue | null> {
  const { status, body } = await reading.get(api.projectPath('issues', iid), { accept: [404] });
  if (status === 404) return null;
  const found = readGitlabIssue(body);
  if (found.iid === iid) return found;
  const message = `${GITLAB} answered a question about issue ${iid} with something else. Check tracker.provider.endpoint.`;
  throw new BatonError('tracker_response', message);
}

/** `null`: in another state, or nothing to work on. */
function mapWanted(gitlab: GitlabIssue, wanted: ReadonlySet<string>, mapping: Mapping): Mapped | null {
  const { isWork, isOpen, labels } = gitlab;
  if (!isWork) return null;
  if (isOpen !== null && !wanted.has(stateKey(mapping.states.of(isOpen, labels).state))) return null;
  try {
    return { gitlab, found: { gitlab, issue: toIssue(gitlab, mapping) }, problem: null };
  } catch (error) {
    if (!(error instanceof BatonError)) throw error;
    return { gitlab, found: null, problem: error.message };
  }
}
