import type { IncomingHttpHeaders } from 'node:http';
import { BatonError } from '../../domain/errors.js';
import type { HttpReading } from '../http/tracker-http.js';
import { type Page, readPages } from '../read-pages.js';
import { GITLAB, type GitlabApi } from './api.js';

export interface PageOrder<Record = unknown> {
  /** Below the project. */
  readonly segments: readonly (string | number)[];
  readonly query?: readonly (readonly [name: string, value: string])[];
  /** What is kept of a record for as long as GitLab does not send it again; absent: all of it. */
  parse?(value: unknown): Record;
}

export interface ListOrder<Item, Record = unknown> extends PageOrder<Record> {
  /** Called page by page, so that a long list does not hold everything else up. */
  read(record: Record): Item;
  idOf(item: Item): string | null;
}

const PAGE_SIZE = 100;

/** A whole list of the project. */
export function readList<Item, Record>(
  api: GitlabApi,
  reading: HttpReading,
  order: ListOrder<Item, Record>,
): Promise<readonly Item[]> {
  return readPages<Item, number>({
    name: GITLAB,
    first: 1,
    read: async (page) => {
      const { items, next } = await readPage(api, reading, order, page);
      return { items: items.map((record) => order.read(record)), next };
    },
    idOf: order.idOf,
  });
}

/** Throws `tracker_response`: what is no list is not an empty one. */
export async function readPage<Record>(
  api: GitlabApi,
  reading: HttpReading,
  { segments, query = [], parse }: PageOrder<Record>,
  page: number,
): Promise<Page<Record, number>> {
  const asked = new URLSearchParams([
    ...query.map(([name, value]): [string, string] => [name, value]),
    ['per_page', String(PAGE_SIZE)],
    ['page', String(page)],
  ]);
  const path = `${api.projectPath(...segments)}?${asked}`;
  const digest = (body: unknown) => (parse && Array.isArray(body) ? body.map((value) => parse(value)) : body);
  const { body, headers } = await reading.get(path, { isConditional: true, digest });
  if (Array.isArray(body)) return { items: body, next: nextPage(headers, page, body.length) };
  const message = `${GITLAB} answered without a list of ${segments.join('/')}. Check tracker.provider.endpoint.`;
  throw new BatonError('tracker_response', message);
}

/** A full page is followed by another look, whatever its headers say: they may be those of an answer from before. */
function nextPage(headers: IncomingHttpHeaders, page: number, count: number): number | null {
  const told = String(headers['x-next-page'] ?? '').trim();
  if (told === '') return count >= PAGE_SIZE ? page + 1 : null;
  if (told === String(page + 1)) return page + 1;
  const message = `The pages of ${GITLAB} do not fit together: page ${page} is followed by something else than page ${page + 1}. Baton reads them again at the next poll.`;
  throw new BatonError('tracker_pagination', message);
}
