import { BatonError } from '../../domain/errors.js';
import { type Fields, fieldsOf } from '../../domain/json.js';
import { type HttpReading, TrackerHttp } from '../http/tracker-http.js';
import { type Page, readPages } from '../read-pages.js';
import type { RedmineSettings } from './settings.js';

export function redmineHttp({ base, token }: RedmineSettings, mask: (text: string) => string): TrackerHttp {
  return new TrackerHttp({
    name: 'Redmine',
    base,
    headers: { 'x-redmine-api-key': token.value },
    tokenFrom: token.from,
    // Redmine has no quota. A proxy in front of it may answer 429.
    readQuota: () => null,
    mask,
  });
}

interface ListRequest {
  readonly path: string;
  /** The name of the list in the answer. */
  readonly key: string;
  readonly filters: { readonly [name: string]: string };
}

/** Redmine's maximum. */
const PAGE_SIZE = 100;

/** All pages of a list, each record once. */
export function readList(reading: HttpReading, request: ListRequest): Promise<readonly Fields[]> {
  return readPages({
    name: 'Redmine',
    first: 0,
    read: (offset: number) => readPage(reading, request, offset),
    idOf: ({ id }: Fields) => idIn(id)?.toString() ?? null,
  });
}

async function readPage(reading: HttpReading, request: ListRequest, offset: number): Promise<Page<Fields, number>> {
  const { path, key, filters } = request;
  const query = new URLSearchParams({ ...filters, limit: String(PAGE_SIZE), offset: String(offset) });
  const { body } = await reading.get(`${path}?${query}`, { isConditional: true });
  const answer = fieldsOf(body);
  const items = answer[key];
  const { total_count: total, offset: actualOffset, limit } = answer;
  if (!Array.isArray(items) || !isCount(total)) throw invalidAnswer(path, `without a list of ${key} and its length`);
  if (actualOffset !== offset || !isCount(limit) || limit === 0) {
    const message = `The pages of Redmine are inconsistent: Baton asked for records from ${offset} on and got others. Baton reads them again at the next poll.`;
    throw new BatonError('tracker_pagination', message);
  }
  const end = offset + items.length;
  return { items: items.map(fieldsOf), next: end < total ? end : null };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** For an answer that contradicts Redmine's documentation. `problem` continues "Redmine answered GET …". */
export function invalidAnswer(path: string, problem: string): BatonError {
  const message = `Redmine answered GET ${path} ${problem}. Check tracker.provider.endpoint.`;
  return new BatonError('tracker_response', message);
}

/** The id in an answer; `null` when it is not one. */
export function idIn(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null;
}

/** Redmine stores 32 bits. Some databases fail on a larger number. */
const MAX_NUMBER = 2 ** 31 - 1;

/** Reads `12`, `#12` and `RM-12`; `null` for other texts. */
export function issueNumberOf(written: string): number | null {
  const digits = /^(?:RM-|#)?([1-9]\d{0,9})$/i.exec(written.trim())?.[1];
  const number = Number(digits ?? Number.NaN);
  return number <= MAX_NUMBER ? number : null;
}

export function identifierOf(number: number): string {
  return `RM-${number}`;
}
