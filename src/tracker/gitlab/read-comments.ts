import type { Trust } from '../../domain/config.js';
import { fieldsOf } from '../../domain/fields.js';
import type { Comment } from '../../domain/issue.js';
import type { HttpReading } from '../http/tracker-http.js';
import { isTrustedWriter, MAX_COMMENTS, trustedComments, type WrittenComment } from '../trust.js';
import type { GitlabApi } from './api.js';
import { usernameOf } from './issue.js';
import type { Members } from './members.js';
import { readPage } from './read-list.js';

interface CommentsOrder {
  readonly api: GitlabApi;
  readonly reading: HttpReading;
  readonly members: Members;
  readonly trust: Trust;
}

/** Of a hundred each: what is older than that is nothing for a prompt. */
const MAX_PAGES = 3;
const QUERY = Object.entries({ sort: 'desc', order_by: 'created_at', activity_filter: 'only_comments' });

/** Newest first as GitLab tells them, until enough of them come from people who are trusted. */
export async function readComments(iid: number, order: CommentsOrder): Promise<readonly Comment[]> {
  const { api, reading, trust } = order;
  const newestFirst: WrittenComment[] = [];
  for (let page = 1; page <= MAX_PAGES; page++) {
    const { items, next } = await readPage(api, reading, { segments: ['issues', iid, 'notes'], query: QUERY }, page);
    newestFirst.push(...(await written(items, order)));
    const trusted = newestFirst.filter((comment) => isTrustedWriter(comment, trust) !== false);
    if (next === null || trusted.length >= MAX_COMMENTS) break;
  }
  return trustedComments(newestFirst.reverse(), trust);
}

async function written(
  items: readonly unknown[],
  { members, reading, trust }: CommentsOrder,
): Promise<readonly WrittenComment[]> {
  // GitLab's own notes say who changed what: nothing that anybody wrote.
  const notes = items.map(fieldsOf).filter(({ system }) => system !== true);
  const people = trust === 'members' ? notes.map(({ author }) => usernameOf(author)) : [];
  const isMember = await members.among(people, reading);
  return notes.map(({ author, body, created_at: at }) => ({
    login: usernameOf(author),
    isMember: isMember(usernameOf(author)),
    body: typeof body === 'string' ? body : '',
    created_at: typeof at === 'string' ? at : null,
  }));
}
