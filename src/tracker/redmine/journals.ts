import { type Fields, fieldsOf, textOf } from '../../domain/fields.js';
import type { HttpReading } from '../http/tracker-http.js';
import { unreadable } from './board-facts.js';
import { numberIn } from './issue-number.js';
import { type Person, personIn } from './people.js';

/** What somebody wrote on an issue. Changes without words are none. */
export interface Note {
  readonly id: number;
  readonly person: Person;
  readonly text: string;
  readonly createdAt: string | null;
  readonly isPrivate: boolean;
}

/** One issue by itself, with what only that tells. Throws as the tracker does when it is gone. */
export async function readWhole(reading: HttpReading, number: number, include: string): Promise<Fields> {
  const { body } = await reading.get(`/issues/${number}.json?${new URLSearchParams({ include })}`);
  const { issue } = fieldsOf(body);
  if (fieldsOf(issue).id !== number) throw unreadable(`/issues/${number}.json`, 'without that issue');
  return fieldsOf(issue);
}

/** Oldest first, whatever order the account likes to see. */
export function notesIn(issue: Fields): readonly Note[] {
  const { journals } = issue;
  if (!Array.isArray(journals)) throw unreadable(`/issues/${String(issue.id)}.json`, 'without its journals');
  const notes = journals.map(fieldsOf).flatMap((journal): Note[] => {
    const id = numberIn(journal.id);
    const text = textOf(journal.notes);
    if (id === null || text === null) return [];
    const person = personIn(journal.user);
    return [{ id, person, text, createdAt: textOf(journal.created_on), isPrivate: isPrivate(journal) }];
  });
  return notes.sort((a, b) => a.id - b.id);
}

/** For those who have a right to it: an agent may repeat what it hears. */
export function isPrivate(journal: Fields): boolean {
  return journal.private_notes === true;
}
