import { type Fields, fieldsOf, listOf, textOf } from '../../domain/fields.js';
import type { Blocker } from '../../domain/issue.js';
import type { HttpReading } from '../http/tracker-http.js';
import { identifierOf, numberIn } from './issue-number.js';
import { issuesByNumber } from './read-issues.js';

export type BlockersOf = (record: Fields) => readonly Blocker[];

/** Who blocks these issues, with their states: those that are not among them are read, all at once and wherever they are. */
export async function readBlockers(records: readonly Fields[], reading: HttpReading): Promise<BlockersOf> {
  const known = new Map(records.map((record) => [numberIn(record.id), record]));
  const missing = records.flatMap(blockersIn).filter((number) => !known.has(number));
  const others = await issuesByNumber(reading, null, missing);
  return (record) =>
    blockersIn(record).map((number) => ({
      id: String(number),
      identifier: identifierOf(number),
      state: textOf(fieldsOf((known.get(number) ?? others.get(number))?.status).name),
    }));
}

/** Redmine keeps "is blocked by" the other way round: `issue_id` blocks `issue_to_id`, on both of them. */
function blockersIn(record: Fields): readonly number[] {
  const relations = listOf(record.relations).map(fieldsOf);
  const blocking = relations.filter(
    ({ relation_type: type, issue_to_id: to }) => type === 'blocks' && to === record.id,
  );
  const numbers = blocking.flatMap(({ issue_id: from }) => numberIn(from) ?? []);
  // In an order of their own: another order would look like a change of the issue.
  return [...new Set(numbers)].sort((a, b) => a - b);
}
