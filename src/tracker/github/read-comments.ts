import type { Trust } from '../../domain/config.js';
import { fieldsOf, textOf } from '../../domain/fields.js';
import type { Comment } from '../../domain/issue.js';
import type { HttpReading } from '../http/tracker-http.js';
import { isTrustedWriter, MAX_COMMENTS, trustedComments } from '../trust.js';
import { type GithubComment, withoutForeignWords } from './comment-editors.js';
import type { GithubApi } from './api.js';
import { writerOf } from './issue.js';
import { readOne } from './read.js';
import { listIn, PAGE_SIZE } from './read-list.js';

/** As far as it is looked back for what members said: strangers may have written page after page since. */
const MAX_PAGES = 10;

/** GitHub tells comments oldest first and cannot turn that round: the count of the issue leads to the last page. */
export async function readComments(
  number: number,
  api: GithubApi,
  reading: HttpReading,
  trust: Trust,
): Promise<readonly Comment[]> {
  const issue = await readOne(number, { api, reading });
  const lastPage = Math.ceil((issue?.comments ?? 0) / PAGE_SIZE);
  const trusted: GithubComment[] = [];
  for (let page = lastPage; page > Math.max(0, lastPage - MAX_PAGES) && trusted.length < MAX_COMMENTS; page--) {
    const written = await readPage(number, page, api, reading);
    trusted.unshift(...written.filter((comment) => isTrustedWriter(comment, trust) !== false));
  }
  if (trust === 'members' || trust === 'anyone') return trustedComments(trusted, trust);
  return trustedComments(await withoutForeignWords(trusted.slice(-MAX_COMMENTS), api, reading, trust), trust);
}

async function readPage(
  number: number,
  page: number,
  api: GithubApi,
  reading: HttpReading,
): Promise<readonly GithubComment[]> {
  const segments = ['issues', number, 'comments'];
  const path = `${api.repoPath(...segments)}?per_page=${PAGE_SIZE}&page=${page}`;
  const { body } = await reading.get(path, { isConditional: true });
  return listIn(body, segments).map((value) => {
    const fields = fieldsOf(value);
    const { body: text, created_at: at } = fields;
    return {
      ...writerOf(fields),
      nodeId: textOf(fields.node_id),
      body: typeof text === 'string' ? text : '',
      created_at: typeof at === 'string' ? at : null,
    };
  });
}
