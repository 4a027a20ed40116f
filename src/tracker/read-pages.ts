import { BatonError } from '../domain/errors.js';

export interface Page<Item, Cursor extends string | number> {
  readonly items: readonly Item[];
  /** `null`: this was the last one. */
  readonly next: Cursor | null;
}

interface PagesOrder<Item, Cursor extends string | number> {
  /** "GitHub" */
  readonly name: string;
  readonly first: Cursor;
  readonly maxPages?: number;
  read(cursor: Cursor): Promise<Page<Item, Cursor>>;
  /** Identifies items. Of two with one id the later counts, since pages shift while they are read. */
  idOf(item: Item): string | null;
}

const MAX_PAGES = 1_000;

/** All pages, each item once. Throws `tracker_pagination` when pages repeat, bring nothing new, or never end. */
export async function readPages<Item, Cursor extends string | number>(
  order: PagesOrder<Item, Cursor>,
): Promise<readonly Item[]> {
  const { name, maxPages = MAX_PAGES } = order;
  const found = new Map<string, Item>();
  const anonymous: Item[] = [];
  const seen = new Set<Cursor>();
  let cursor: Cursor | null = order.first;
  for (let pages = 0; cursor !== null; pages++) {
    if (seen.has(cursor)) throw broken(name, 'a page refers back to one that was read already');
    if (pages >= maxPages) throw broken(name, `there are more than ${maxPages} pages`);
    seen.add(cursor);
    const page: Page<Item, Cursor> = await order.read(cursor);
    const before = found.size + anonymous.length;
    for (const item of page.items) {
      const id = order.idOf(item);
      if (id === null) anonymous.push(item);
      else {
        const { size } = found;
        found.set(id, item);
        if (found.size > size) continue;
        found.delete(id);
        found.set(id, item);
      }
    }
    if (page.next !== null && found.size + anonymous.length === before)
      throw broken(name, 'a page brings nothing new and claims that there are more');
    cursor = page.next;
  }
  return [...found.values(), ...anonymous];
}

function broken(name: string, why: string): BatonError {
  return new BatonError(
    'tracker_pagination',
    `The pages of ${name} do not fit together: ${why}. Baton reads them again at the next poll.`,
  );
}

/** Does the work for each item, `atOnce` at a time, and returns the results in order. After a failure it starts nothing new, waits for the work in flight, and throws. */
export async function inParallel<In, Out>(
  items: readonly In[],
  atOnce: number,
  work: (item: In) => Promise<Out>,
): Promise<readonly Out[]> {
  const waiting = items.entries();
  const done: Out[] = [];
  let hasFailed = false;
  const worker = async () => {
    for (const [at, item] of waiting) {
      if (hasFailed) return;
      try {
        done[at] = await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const settled = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  const failed = settled.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
  return done;
}
