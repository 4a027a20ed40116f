import { createHash } from 'node:crypto';
import { type Issue, labelKey } from '../domain/issue.js';

export type Part = 'title' | 'description';
export const PARTS: readonly Part[] = ['title', 'description'];

/** Who changed a part of the text last; `nobody`: it is as its author wrote it. */
export type Editors<P extends object> = Readonly<Record<Part, P | 'nobody'>>;

export interface EditorsOrder<P extends object> {
  /** `members`: strangers are told as such; a list: as not trusted. */
  readonly trust: 'members' | readonly string[];
  readonly requiredLabels: readonly string[];
  /** How many issues may be asked about that nobody asked about before; the others wait for another poll. */
  readonly limit: number;
  /** By id. An issue that is missing is one of which nobody can tell. */
  ask(issues: readonly Issue[]): Promise<ReadonlyMap<string, Editors<P>>>;
  judge(people: readonly P[]): Promise<(person: P) => boolean>;
  nameOf(person: P): string;
}

interface Kept<P extends object> {
  readonly text: string;
  readonly editors: Editors<P>;
}

const MAX_KEPT = 5_000;

/**
 * Holds back whose text had its last word from somebody who is not trusted, whoever wrote it first. Trackers tell that by a question of its own, so only issues are asked
 * about that could start, and each once per text: as long as that is the same, nobody else has written it. Whom to trust is judged anew each time.
 */
export class LastEditors<P extends object> {
  readonly #kept = new Map<string, Kept<P>>();

  async holdBack(issues: readonly Issue[], order: EditorsOrder<P>): Promise<readonly Issue[]> {
    const doubtful = issues.filter((issue) => couldStart(issue, order.requiredLabels));
    const found = new Map<string, Editors<P> | 'later'>();
    const asked: Issue[] = [];
    for (const issue of doubtful) {
      const kept = this.#kept.get(issue.id);
      if (kept?.text === textOf(issue)) found.set(issue.id, kept.editors);
      else if (asked.length < order.limit) asked.push(issue);
      else found.set(issue.id, 'later');
    }
    if (asked.length > 0) {
      const told = await order.ask(asked);
      for (const issue of asked) {
        const editors = told.get(issue.id);
        if (editors === undefined) continue;
        found.set(issue.id, editors);
        this.#keep(issue.id, { text: textOf(issue), editors });
      }
    }
    const isTrusted = await order.judge([...found.values()].flatMap(peopleIn));
    const whyHeldBack = new Map(
      doubtful.flatMap(({ id }) => {
        const why = whyNot(found.get(id), isTrusted, order);
        return why === null ? [] : [[id, why] as const];
      }),
    );
    return issues.map((issue) => {
      const why = whyHeldBack.get(issue.id);
      return why === undefined ? issue : { ...issue, dispatchable: false, held_back: why };
    });
  }

  #keep(id: string, entry: Kept<P>): void {
    this.#kept.delete(id);
    this.#kept.set(id, entry);
    for (const [oldest] of this.#kept) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
  }
}

/** Whatever else keeps it from starting, who changed it makes no difference then. */
function couldStart({ dispatchable, author, labels }: Issue, requiredLabels: readonly string[]): boolean {
  const carried = new Set(labels);
  return dispatchable && author?.trusted !== false && requiredLabels.every((label) => carried.has(labelKey(label)));
}

function textOf({ title, description }: Issue): string {
  return createHash('sha256')
    .update(JSON.stringify([title, description]))
    .digest('base64');
}

function peopleIn<P extends object>(editors: Editors<P> | 'later'): readonly P[] {
  if (editors === 'later') return [];
  return PARTS.flatMap((part) => {
    const person = editors[part];
    return person === 'nobody' ? [] : [person];
  });
}

/** Going on from "it …". Of title and description each: whoever corrects the one has not vouched for the other. */
function whyNot<P extends object>(
  editors: Editors<P> | 'later' | undefined,
  isTrusted: (person: P) => boolean,
  { trust, nameOf }: Pick<EditorsOrder<P>, 'trust' | 'nameOf'>,
): string | null {
  if (editors === undefined) return 'has a history that cannot be read, so that nobody knows who changed it';
  if (editors === 'later') return 'is yet to be looked through for changes by strangers, at one of the next polls';
  for (const part of PARTS) {
    const person = editors[part];
    if (person === 'nobody' || isTrusted(person)) continue;
    const who = `${nameOf(person)}, who is ${trust === 'members' ? 'no member' : 'not trusted'}`;
    return `has a ${part} that was last changed by ${who}`;
  }
  return null;
}
