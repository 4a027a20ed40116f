import type { HttpReading } from '../http/tracker-http.js';
import type { Me } from './board-facts.js';
import type { People, Person } from './people.js';

/** Says why an issue with such an assignee is left alone, going on from "it …"; `null`: it is not. `wanted: null`: nobody cares. */
export async function heldBackBy(
  wanted: string | null,
  assignees: readonly Person[],
  { me, people, reading }: { readonly me: Me; readonly people: People; readonly reading: HttpReading },
): Promise<(assignee: Person) => string | null> {
  if (wanted === null) return () => null;
  const isMe = [me.login, String(me.id), 'me'].some((name) => name.toLowerCase() === wanted.toLowerCase());
  const ours = new Set<number>();
  for (const id of new Set(assignees.flatMap((person) => person.id ?? []))) {
    if (isMe ? id === me.id : await people.isOneOf(id, [wanted], reading)) ours.add(id);
  }
  return ({ id, name }) => {
    if (id !== null && ours.has(id)) return null;
    return `is assigned to ${id === null ? 'nobody' : (name ?? `user ${id}`)}, not to ${isMe ? me.login : wanted}`;
  };
}
