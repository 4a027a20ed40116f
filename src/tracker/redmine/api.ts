import { BatonError } from '../../domain/errors.js';
import { type Fields, fieldsOf } from '../../domain/fields.js';
import type { HttpReading } from '../http/tracker-http.js';
import { type Page, readPages } from '../read-pages.js';
import { numberIn } from './issue-number.js';

export interface ListOrder {
  readonly path: string;
  /** Under which name the answer holds the list. */
  readonly key: string;
  readonly filters: { readonly [name: string]: string };
}

/** Redmine gives no more at once, whatever is asked for. */
const PAGE_SIZE = 100;

/** All pages of a list, each record once. Redmine counts records, not pages, and tells how many there are. */
export function readList(reading: HttpReading, order: ListOrder): Promise<readonly Fields[]> {
  return readPages({
    name: 'Redmine',
    first: 0,
    read: (offset: number) => readPage(reading, order, offset),
    idOf: ({ id }: Fields) => numberIn(id)?.toString() ?? null,
  });
}

async function readPage(reading: HttpReading, order: ListOrder, offset: number): Promise<Page<Fields, number>> {
  const query = new URLSearchParams({ ...order.filters, limit: String(PAGE_SIZE), offset: String(offset) });
  const { body } = await reading.get(`${order.path}?${query}`, { isConditional: true });
  const answer = fieldsOf(body);
  const items = answer[order.key];
  const { total_count: total, offset: told, limit } = answer;
  if (!Array.isArray(items) || !isCount(total)) {
    const message = `Redmine answered GET ${order.path} without a list of ${order.key} and its length. Check tracker.provider.endpoint.`;
    throw new BatonError('tracker_response', message);
  }
  if (told !== offset || !isCount(limit) || limit === 0) {
    const message = `The pages of Redmine do not fit together: asked for the records from ${offset} on, it tells others. Baton reads them again at the next poll.`;
    throw new BatonError('tracker_pagination', message);
  }
  const end = offset + items.length;
  return { items: items.map(fieldsOf), next: end < total ? end : null };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
