import { type Fields, fieldsOf, foundIn, textOf } from '../../domain/fields.js';
import type { Blocker } from '../../domain/issue.js';
import type { HttpReading } from '../http/tracker-http.js';
import { identifierOf, numberIn } from './issue-number.js';
import { issuesByNumber } from './read.js';

export type BlockersOf = (record: Fields) => readonly Blocker[];

/** Who blocks these issues, with their states: those that are not among them are read, all at once and wherever they are. */
export async function readBlockers(records: readonly Fields[], reading: HttpReading): Promise<BlockersOf> {
  const known = new Map(records.map((record) => [numberIn(record.id), record]));
  const missing: number[] = [];
  for (const record of records) missing.push(...blockersIn(record).filter((number) => !known.has(number)));
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
  const numbers = foundIn(record.relations, (relation) => {
    const { relation_type: type, issue_to_id: to, issue_id: from } = fieldsOf(relation);
    return type === 'blocks' && to === record.id ? numberIn(from) : null;
  });
  if (numbers.length < 2) return numbers;
  // In an order of their own: another order would look like a change of the issue.
  return [...new Set(numbers)].sort((a, b) => a - b);
}
