import { stateKey } from '../../domain/issue.js';
import { type Fields, fieldsOf, isAbsent, listOf } from '../../domain/json.js';
import { type Description, descriptionIn } from '../../tracker/command/protocol.js';
import {
  askForIssues,
  type Check,
  fail,
  type Heard,
  isUnsupported,
  listIn,
  NO_ISSUES,
  optionalResultIn,
  passed,
  resultIn,
  skipped,
  told,
  wordIn,
} from './test-bench.js';

export const NO_SUCH = 'baton-test-no-such-thing';
const MAX_IDS = 50;
const MAX_FAULTS = 3;

/** The first one finds out whether there is any talking to the program at all. */
export const READ_CHECKS: readonly Check[] = [
  {
    law: 'answers issues_by_states with a list of issues',
    async see(bench) {
      const heard = await bench.talk.ask('issues_by_states', { states: bench.states });
      const sent = listIn(resultIn(heard), 'issues', heard);
      // The others are good enough to go on with.
      bench.records = sent.filter((record) => recordFault(record) === null);
      failForRecords(sent, heard);
      const ids = sent.map((record) => wordIn(record, 'id'));
      const twice = ids.find((id, at) => ids.indexOf(id) < at);
      if (twice !== undefined) fail(`sent the id ${twice} twice`, 'An id belongs to one issue for ever.', heard);
      return passed(`${ids.length} in ${bench.states.join(', ')}`);
    },
  },
  {
    law: 'describes its states, or says that it does not know `describe`',
    async see(bench) {
      const heard = await bench.talk.ask('describe', {});
      const result = optionalResultIn(heard);
      if (result === null) return told('it does not, so that `baton check` cannot check the states of WORKFLOW.md');
      bench.description = described(result, heard);
      const { states, methods } = bench.description;
      if (bench.records.length === 0 && states.length > 0) {
        bench.records = (await askForIssues(bench, 'issues_by_states', { states: [...states] })).records;
      }
      const unnamed = bench.records.find((record) => !hasState(states, wordIn(record, 'state')));
      if (states.length > 0 && unnamed !== undefined) {
        const why = `did not tell the state "${wordIn(unnamed, 'state')}", in which ${nameOf(unnamed)} is`;
        fail(why, 'List every state that an issue can be in.', heard);
      }
      return passed(`${states.join(', ')}${methods === null ? '' : `; methods ${methods.join(', ')}`}`);
    },
  },
  {
    law: 'gives optional fields in a form that can be read',
    async see({ records }) {
      if (records.length === 0) return skipped(NO_ISSUES);
      const faults = records.flatMap(optionalFaults);
      const shown = faults.slice(0, MAX_FAULTS).join('; ');
      const more = faults.length > MAX_FAULTS ? `; and ${faults.length - MAX_FAULTS} more` : '';
      if (faults.length > 0) fail(`sent what counts as absent: ${shown}${more}`, 'Correct it, or leave the field out.');
      return passed();
    },
  },
  {
    law: 'sends only issues in the states that it was asked for',
    async see(bench) {
      const found = bench.records[0];
      for (const state of [...(found ? [wordIn(found, 'state')] : []), NO_SUCH]) {
        const { heard, records } = await askForIssues(bench, 'issues_by_states', { states: [state] });
        const stray = records.find((record) => stateKey(wordIn(record, 'state')) !== stateKey(state));
        if (stray === undefined) continue;
        const why = `sent ${nameOf(stray)}, which is in "${wordIn(stray, 'state')}", when asked for "${state}"`;
        fail(why, 'Send what is in one of the asked states; where there is none, an empty list.', heard);
      }
      return passed();
    },
  },
  {
    law: 'knows a state by its letters, be they large or small',
    async see(bench) {
      const state = wordIn(bench.records[0] ?? {}, 'state');
      if (state === '') return skipped(NO_ISSUES);
      const other = state === state.toUpperCase() ? state.toLowerCase() : state.toUpperCase();
      const { heard, records } = await askForIssues(bench, 'issues_by_states', { states: [other] });
      if (records.length > 0) return passed();
      const why = `found no issue in "${other}", but some in "${state}"`;
      return fail(why, 'Compare states in small letters: WORKFLOW.md may spell them in another way.', heard);
    },
  },
  {
    law: 'finds issues by their ids',
    async see(bench) {
      const ids = bench.records.slice(0, MAX_IDS).map((record) => wordIn(record, 'id'));
      if (ids.length === 0) return skipped(NO_ISSUES);
      const { heard, records } = await askForIssues(bench, 'issues_by_ids', { ids });
      failForRecords(records, heard);
      const found = new Set(records.map((record) => wordIn(record, 'id')));
      const missing = ids.find((id) => !found.has(id));
      if (missing === undefined) return passed();
      const why = `did not find ${missing}, which it had sent before`;
      return fail(
        why,
        'Ids come as texts, "7" for 7. One that is left out counts as gone, and its run is stopped.',
        heard,
      );
    },
  },
  {
    law: 'leaves an id out that does not exist',
    async see(bench) {
      const known = bench.records.slice(0, 1).map((record) => wordIn(record, 'id'));
      const { heard, records } = await askForIssues(bench, 'issues_by_ids', { ids: [NO_SUCH, ...known] });
      const strays = records.filter((record) => !known.includes(wordIn(record, 'id')));
      const action = 'What is gone stands neither in `issues` nor in `unknown`; the others are answered all the same.';
      const { unknown } = resultIn(heard);
      if (Array.isArray(unknown) && unknown.includes(NO_SUCH)) fail('named it in `unknown`', action, heard);
      return strays.length === 0 ? passed() : fail(`sent ${nameOf(strays[0])}, which nobody asked for`, action, heard);
    },
  },
  {
    law: 'answers no ids with no issues',
    async see(bench) {
      const { heard, records } = await askForIssues(bench, 'issues_by_ids', { ids: [] });
      return records.length === 0 ? passed() : fail(`sent ${records.length}`, 'Send an empty list.', heard);
    },
  },
  {
    law: 'answers `unsupported` to a method that it does not know',
    async see({ talk }) {
      const heard = await talk.ask(NO_SUCH, {});
      if (isUnsupported(heard.answer)) return passed();
      const why = typeof heard.answer === 'string' ? heard.answer : 'answered something else';
      return fail(
        why,
        'Answer {"id": …, "error": {"code": "unsupported"}}: later versions of Baton may ask more.',
        heard,
      );
    },
  },
  {
    law: 'answers `comments` with a list of comments, or says that it does not know it',
    async see(bench) {
      const [record] = bench.records;
      if (record === undefined) return skipped(NO_ISSUES);
      const heard = await bench.talk.ask('comments', { issue_id: wordIn(record, 'id') });
      const result = optionalResultIn(heard);
      if (result === null) return told('it does not, so that agents read those that come with issues, if any');
      const comments = listIn(result, 'comments', heard);
      const fault = comments.map(commentFault).find((each) => each !== null);
      if (fault) fail(fault, 'A comment is {"author": …, "body": "…", "created_at": "2026-01-31T12:00:00Z"}.', heard);
      return passed(`${comments.length} of ${nameOf(record)}`);
    },
  },
];

function failForRecords(records: readonly Fields[], heard: Heard): void {
  const fault = records.map(recordFault).find((each) => each !== null);
  if (fault) fail(fault, 'Every issue needs all of id, identifier, title and state.', heard);
}

function described(result: Fields, heard: Heard): Description {
  try {
    return descriptionIn(result);
  } catch {
    return fail('described something as `states` or `methods` that is no list of texts', 'Correct it.', heard);
  }
}

function hasState(states: readonly string[], state: string): boolean {
  return states.some((each) => stateKey(each) === stateKey(state));
}

const REQUIRED = ['id', 'identifier', 'title', 'state'] as const;

/** What keeps a record from being an issue, going on from "it …"; `null`: nothing. */
function recordFault(record: Fields): string | null {
  const missing = REQUIRED.filter((field) => !isName(record[field]));
  return missing.length === 0 ? null : `sent ${nameOf(record)} without ${missing.join(', ')}`;
}

/** The optional fields of a record that Baton would take for absent, a sentence part each. */
function optionalFaults(record: Fields): string[] {
  const faults = OPTIONAL.filter(([field, isFit]) => !isAbsent(record[field]) && !isFit(record[field]));
  return faults.map(([field, , form]) => `${field} of ${nameOf(record)} is no ${form}: ${shortly(record[field])}`);
}

/** What is wrong with a comment, going on from "it …"; `null`: nothing. */
function commentFault(comment: unknown): string | null {
  const { body, author, created_at: createdAt } = fieldsOf(comment);
  if (typeof body !== 'string') return `sent a comment without a text as its body: ${shortly(comment)}`;
  if (!isAbsent(author) && !isWriter(author)) return `sent a comment with an author that is none: ${shortly(author)}`;
  if (!isAbsent(createdAt) && !isTime(createdAt)) return `sent a comment with a created_at that is no time`;
  return null;
}

function nameOf(record: unknown): string {
  const { identifier, id } = fieldsOf(record);
  return isName(identifier) ? String(identifier) : isName(id) ? String(id) : 'an issue';
}

const isBoolean = (value: unknown) => typeof value === 'boolean';
const isText = (value: unknown) => typeof value === 'string';

/** Beside the required ones. `description` and the like may be empty, which is as good as absent. */
const OPTIONAL: readonly (readonly [field: string, isFit: (value: unknown) => boolean, form: string])[] = [
  ['description', isText, 'text'],
  ['priority', Number.isSafeInteger, 'whole number'],
  ['branch_name', isText, 'text'],
  ['url', (value) => value === '' || isWebAddress(value), 'address of the web'],
  ['assignee_id', (value) => value === '' || isName(value), 'text'],
  ['author', isWriter, 'login, and no {"login", "trusted"}'],
  ['labels', (value) => Array.isArray(value) && value.every(isText), 'list of texts'],
  ['blocked_by', isBlockerList, 'list of {"id", "identifier", "state"}'],
  [
    'comments',
    (value) => Array.isArray(value) && value.every((each) => commentFault(each) === null),
    'list of comments',
  ],
  ['dispatchable', isBoolean, 'true or false'],
  ['held_back', isText, 'text'],
  ['native_ref', (value) => value === '' || isName(value), 'text'],
  ['created_at', isTime, 'time such as 2026-01-31T12:00:00Z'],
  ['updated_at', isTime, 'time such as 2026-01-31T12:00:00Z'],
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

function shortly(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
}
