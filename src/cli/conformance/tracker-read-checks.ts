import { stateKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, isAbsent, isMap, listOf } from '../../domain/json.js';
import { type Description, descriptionIn } from '../../tracker/command/read.js';
import { type Check, fail, info, passed, skipped } from './checks.js';
import {
  type Exchange,
  errorCodeOf,
  fieldText,
  listIn,
  optionalResultIn,
  resultIn,
  type TrackerBench,
} from './tracker-bench.js';

export const NO_SUCH = 'baton-test-no-such-thing';
const NO_ISSUES = 'there are no issues in the states that were asked for; name others with --states';
const MAX_IDS = 50;
const MAX_FAULTS = 3;

/** The first check shows whether the program answers at all. */
export const READ_CHECKS: readonly Check<TrackerBench>[] = [
  {
    name: 'list',
    law: 'answers issues_by_states with a list of issues',
    async run(bench) {
      const { states } = bench.options;
      const { exchange, records } = await bench.readIssues('issues_by_states', { states });
      // The valid records are good enough for the other checks.
      bench.records = records.filter((record) => recordFault(record) === null);
      requireIssues(records, exchange);
      const ids = records.map((record) => fieldText(record, 'id'));
      const repeated = ids.find((id, at) => ids.indexOf(id) < at);
      if (repeated !== undefined)
        fail(`sent the id ${repeated} twice`, 'An id belongs to one issue for ever.', exchange);
      return passed(`${ids.length} in ${states.join(', ')}`);
    },
  },
  {
    name: 'describe',
    law: 'describes its states, or says that it does not know `describe`',
    async run(bench) {
      const exchange = await bench.conversation.send('describe', {});
      const result = optionalResultIn(exchange);
      if (result === null) return info('it does not, so `baton check` cannot check the states of WORKFLOW.md');
      const description = parseDescription(result, exchange);
      const { states, methods } = description;
      bench.description = description;
      if (bench.records.length === 0 && states.length > 0) {
        bench.records = (await bench.readIssues('issues_by_states', { states: [...states] })).records;
      }
      const hasState = (state: string) => states.some((each) => stateKey(each) === stateKey(state));
      const unlisted = bench.records.find((record) => !hasState(fieldText(record, 'state')));
      if (states.length > 0 && unlisted !== undefined) {
        const problem = `did not list the state "${fieldText(unlisted, 'state')}", in which ${nameOf(unlisted)} is`;
        fail(problem, 'List every state that an issue can be in.', exchange);
      }
      return passed(`${states.join(', ')}${methods === null ? '' : `; methods ${methods.join(', ')}`}`);
    },
  },
  {
    name: 'optional_fields',
    law: 'sends optional fields in a valid form',
    async run({ records }) {
      if (records.length === 0) return skipped(NO_ISSUES);
      const faults = records.flatMap(optionalFaults);
      const shown = faults.slice(0, MAX_FAULTS).join('; ');
      const more = faults.length > MAX_FAULTS ? `; and ${faults.length - MAX_FAULTS} more` : '';
      if (faults.length > 0)
        fail(`sent invalid fields, which count as absent: ${shown}${more}`, 'Correct them, or leave them out.');
      return passed();
    },
  },
  {
    name: 'only_asked_states',
    law: 'sends only issues in the requested states',
    async run(bench) {
      const first = bench.records[0];
      for (const state of [...(first ? [fieldText(first, 'state')] : []), NO_SUCH]) {
        const { exchange, records } = await bench.readIssues('issues_by_states', { states: [state] });
        const stray = records.find((record) => stateKey(fieldText(record, 'state')) !== stateKey(state));
        if (stray === undefined) continue;
        const problem = `sent ${nameOf(stray)}, which is in "${fieldText(stray, 'state')}", when asked for "${state}"`;
        fail(problem, 'Send only issues in the requested states; where there is none, an empty list.', exchange);
      }
      return passed();
    },
  },
  {
    name: 'ignores_case',
    law: 'compares states without regard to case',
    async run(bench) {
      const state = fieldText(bench.records[0] ?? {}, 'state');
      if (state === '') return skipped(NO_ISSUES);
      const other = state === state.toUpperCase() ? state.toLowerCase() : state.toUpperCase();
      const { exchange, records } = await bench.readIssues('issues_by_states', { states: [other] });
      if (records.length > 0) return passed();
      const problem = `found no issue in "${other}", but some in "${state}"`;
      return fail(problem, 'Compare states in lower case: WORKFLOW.md may spell them differently.', exchange);
    },
  },
  {
    name: 'by_ids',
    law: 'finds issues by their ids',
    async run(bench) {
      const ids = bench.records.slice(0, MAX_IDS).map((record) => fieldText(record, 'id'));
      if (ids.length === 0) return skipped(NO_ISSUES);
      const { exchange, records } = await bench.readIssues('issues_by_ids', { ids });
      requireIssues(records, exchange);
      const found = new Set(records.map((record) => fieldText(record, 'id')));
      const missing = ids.find((id) => !found.has(id));
      if (missing === undefined) return passed();
      const action = 'Ids come as texts, "7" for 7. A missing issue counts as gone, and its run is stopped.';
      return fail(`did not find ${missing}, which it had sent before`, action, exchange);
    },
  },
  {
    name: 'missing_ids',
    law: 'leaves out ids that do not exist',
    async run(bench) {
      const known = bench.records.slice(0, 1).map((record) => fieldText(record, 'id'));
      const { exchange, records } = await bench.readIssues('issues_by_ids', { ids: [NO_SUCH, ...known] });
      const strays = records.filter((record) => !known.includes(fieldText(record, 'id')));
      const action = 'A missing issue is in neither `issues` nor `unknown`; the other issues are sent all the same.';
      const { unknown } = resultIn(exchange);
      if (Array.isArray(unknown) && unknown.includes(NO_SUCH)) fail('named it in `unknown`', action, exchange);
      if (strays.length === 0) return passed();
      return fail(`sent ${nameOf(strays[0])}, which was not requested`, action, exchange);
    },
  },
  {
    name: 'no_ids',
    law: 'answers no ids with no issues',
    async run(bench) {
      const { exchange, records } = await bench.readIssues('issues_by_ids', { ids: [] });
      return records.length === 0 ? passed() : fail(`sent ${records.length}`, 'Send an empty list.', exchange);
    },
  },
  {
    name: 'unknown_method',
    law: 'answers `unsupported` to a method that it does not know',
    async run({ conversation }) {
      const exchange = await conversation.send(NO_SUCH, {});
      if (errorCodeOf(exchange) === 'unsupported') return passed();
      const problem = exchange.reply.kind === 'none' ? exchange.reply.problem : 'answered something else';
      const action = 'Answer {"id": …, "error": {"code": "unsupported"}}: later versions of Baton may ask more.';
      return fail(problem, action, exchange);
    },
  },
  {
    name: 'comments',
    law: 'answers `comments` with a list of comments, or says that it does not know it',
    async run({ records, conversation }) {
      const [record] = records;
      if (record === undefined) return skipped(NO_ISSUES);
      const exchange = await conversation.send('comments', { issue_id: fieldText(record, 'id') });
      const result = optionalResultIn(exchange);
      if (result === null) return info('it does not, so agents read only the comments that come with issues');
      const comments = listIn(result, 'comments', exchange);
      const fault = comments.map(commentFault).find((each) => each !== null);
      const action = 'A comment is {"author": …, "body": "…", "created_at": "2026-01-31T12:00:00Z"}.';
      if (fault) fail(fault, action, exchange);
      return passed(`${comments.length} of ${nameOf(record)}`);
    },
  },
];

function requireIssues(records: readonly Fields[], exchange: Exchange): void {
  const fault = records.map(recordFault).find((each) => each !== null);
  if (fault) fail(fault, 'Every issue needs all of id, identifier, title and state.', exchange);
}

function parseDescription(result: Fields, exchange: Exchange): Description {
  try {
    return descriptionIn(result);
  } catch {
    return fail('described `states` or `methods` that are not a list of texts', 'Correct them.', exchange);
  }
}

const REQUIRED = ['id', 'identifier', 'title', 'state'] as const;

/** Why a record is not an issue, continuing "it …"; `null` when it is. */
function recordFault(record: Fields): string | null {
  const missing = REQUIRED.filter((field) => !isName(record[field]));
  return missing.length === 0 ? null : `sent ${nameOf(record)} without ${missing.join(', ')}`;
}

/** The optional fields that Baton would ignore. */
function optionalFaults(record: Fields): string[] {
  const faults = OPTIONAL.filter(([field, isValid]) => !isAbsent(record[field]) && !isValid(record[field]));
  return faults.map(([field, , form]) => `${field} of ${nameOf(record)} is not ${form}: ${shorten(record[field])}`);
}

/** What is wrong with a comment, continuing "it …"; `null` when nothing is. */
function commentFault(comment: unknown): string | null {
  const { body, author, created_at: createdAt } = fieldsOf(comment);
  if (typeof body !== 'string') return `sent a comment whose body is not a text: ${shorten(comment)}`;
  if (!isAbsent(author) && !isWriter(author)) return `sent a comment with an invalid author: ${shorten(author)}`;
  if (!isAbsent(createdAt) && !isTime(createdAt)) return 'sent a comment with a created_at that is not a time';
  return null;
}

function nameOf(record: unknown): string {
  const { identifier, id } = fieldsOf(record);
  return isName(identifier) ? String(identifier) : isName(id) ? String(id) : 'an issue';
}

const isBoolean = (value: unknown) => typeof value === 'boolean';
const isText = (value: unknown) => typeof value === 'string';

/** An empty text is as good as an absent field. */
const OPTIONAL: readonly (readonly [field: string, isValid: (value: unknown) => boolean, form: string])[] = [
  ['description', isText, 'a text'],
  ['priority', Number.isSafeInteger, 'a whole number'],
  ['branch_name', isText, 'a text'],
  ['url', (value) => value === '' || isWebAddress(value), 'a web address'],
  ['assignee_id', (value) => value === '' || isName(value), 'a text'],
  ['author', isWriter, 'a login or {"login", "trusted"}'],
  ['labels', (value) => Array.isArray(value) && value.every(isText), 'a list of texts'],
  ['blocked_by', isBlockerList, 'a list of {"id", "identifier", "state"}'],
  [
    'comments',
    (value) => Array.isArray(value) && value.every((each) => commentFault(each) === null),
    'a list of comments',
  ],
  ['dispatchable', isBoolean, 'true or false'],
  ['held_back', isText, 'a text'],
  ['native_ref', (value) => value === '' || isName(value) || isMap(value), 'an object'],
  ['created_at', isTime, 'a time such as 2026-01-31T12:00:00Z'],
  ['updated_at', isTime, 'a time such as 2026-01-31T12:00:00Z'],
];

function isBlockerList(value: unknown): boolean {
  const isBlocker = (each: unknown) => isName(fieldsOf(each).id) || isName(fieldsOf(each).identifier);
  return Array.isArray(value) && listOf(value).every(isBlocker);
}

function isWriter(value: unknown): boolean {
  if (typeof value === 'string') return true;
  const { login, trusted } = fieldsOf(value);
  return isText(login) && (isAbsent(trusted) || isBoolean(trusted));
}

function isWebAddress(value: unknown): boolean {
  return typeof value === 'string' && /^\s*https?:\/\//i.test(value) && URL.canParse(value);
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

function isName(value: unknown): boolean {
  return Number.isSafeInteger(value) || (typeof value === 'string' && value.trim() !== '');
}

const MAX_SHOWN = 80;

function shorten(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
}
