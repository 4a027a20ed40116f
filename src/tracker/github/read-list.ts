import { BatonError } from '../../domain/errors.js';
import { listOf } from '../../domain/fields.js';
import type { HttpAnswer, HttpReading } from '../http/tracker-http.js';
import { readPages } from '../read-pages.js';
import { GITHUB, type GithubApi } from './api.js';

export interface ListOrder<Item, Record = unknown> {
  /** Below the repository. */
  readonly segments: readonly (string | number)[];
  readonly query?: { readonly [name: string]: string };
  /** What is kept of a record for as long as GitHub does not send it again; absent: all of it. */
  parse?(value: unknown): Record;
  /** Called page by page, so that a long list does not hold everything else up. */
  read(record: Record): Item;
  idOf(item: Item): string | null;
}

export const PAGE_SIZE = 100;

/** A whole list of the repository, as far as the `Link` headers lead. */
export function readList<Item, Record>(
  api: GithubApi,
  reading: HttpReading,
  order: ListOrder<Item, Record>,
): Promise<readonly Item[]> {
  const { segments, query = {} } = order;
  const asked = new URLSearchParams({ ...query, per_page: String(PAGE_SIZE) });
  return readPages<Item, string>({
    name: GITHUB,
    first: api.url(`${api.repoPath(...segments)}?${asked}`).href,
    read: async (address) => {
      const { body, headers } = await readPage(new URL(address), reading, order);
      const next = nextPage(headers.link);
      if (next !== null && !(URL.canParse(next) && api.isBelowRepo(new URL(next), segments))) throw elsewhere(api);
      return { items: (listIn(body, segments) as readonly Record[]).map((record) => order.read(record)), next };
    },
    idOf: order.idOf,
  });
}

/** An ETag is about the items alone: behind a full page that was the last one there may be another by now, which only a whole answer names. */
async function readPage<Item, Record>(
  address: URL,
  reading: HttpReading,
  { parse }: ListOrder<Item, Record>,
): Promise<HttpAnswer> {
  const asked = { isConditional: true, ...(parse ? { digest: (body: unknown) => parsed(body, parse) } : {}) };
  const page = await reading.get(address, asked);
  const isFull = listOf(page.body).length >= PAGE_SIZE;
  const isDoubtful = page.isCached && isFull && nextPage(page.headers.link) === null;
  return isDoubtful ? reading.get(address, { ...asked, isRenewed: true }) : page;
}

/** What is no list stays what it is, for `listIn` to tell. */
function parsed(body: unknown, parse: (value: unknown) => unknown): unknown {
  return Array.isArray(body) ? body.map((value) => parse(value)) : body;
}

/** Throws `tracker_response`: what is no list is not an empty one. */
export function listIn(body: unknown, segments: readonly (string | number)[]): readonly unknown[] {
  if (Array.isArray(body)) return body;
  const message = `${GITHUB} answered without a list of ${segments.join('/')}. Check tracker.provider.endpoint.`;
  throw new BatonError('tracker_response', message);
}

/** The address after `<`, of the link whose `rel` is `next`. */
function nextPage(link: string | readonly string[] | undefined): string | null {
  for (const [, address = '', more = ''] of String(link ?? '').matchAll(/<([^>]*)>([^<]*)/g)) {
    if (/;\s*rel="?next"?/i.test(more)) return address;
  }
  return null;
}

function elsewhere(api: GithubApi): BatonError {
  const message = `The pages of ${GITHUB} do not fit together: the next one is said to be outside of ${api.fullName}. Baton reads them again at the next poll.`;
  return new BatonError('tracker_pagination', message);
}
