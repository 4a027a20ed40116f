import type { Trust } from '../../domain/config.js';
import { type Fields, fieldsOf, textOf } from '../../domain/fields.js';
import type { Comment } from '../../domain/issue.js';
import { MAX_COMMENTS, trustedComments, type WrittenComment } from '../trust.js';
import { adfToMarkdown } from './adf-to-markdown.js';
import { ISSUE } from './issue-name.js';
import { type JiraCalls, misshapen } from './api.js';
import { isTrustedPerson, personOf } from './people.js';

const PAGE_SIZE = 100;
/** As far as it is looked back for what trusted people said: others may have written page after page since. */
const MAX_PAGES = 5;

/** The newest comments of people who are trusted, oldest first. */
export async function readTrustedComments(
  calls: JiraCalls,
  issueId: string,
  trust: Trust,
): Promise<readonly Comment[]> {
  if (!ISSUE.test(issueId)) throw misshapen(`an issue with the id ${JSON.stringify(issueId)}`, 'has no comments');
  const newestFirst: WrittenComment[] = [];
  for (let page = 0, at = 0; page < MAX_PAGES && newestFirst.length < MAX_COMMENTS; page++) {
    const path = `/issue/${issueId}/comment?orderBy=-created&startAt=${at}&maxResults=${PAGE_SIZE}`;
    const { comments, total } = fieldsOf((await calls.get(path)).body);
    if (!Array.isArray(comments)) throw misshapen(`the comments of issue ${issueId}`, 'are no list');
    for (const comment of comments) newestFirst.push(...trustedComment(fieldsOf(comment), trust));
    at += comments.length;
    if (comments.length === 0 || typeof total !== 'number' || at >= total) break;
  }
  // Who wrote them is judged already, by more than one name.
  return trustedComments(newestFirst.reverse(), 'anyone');
}

/** Whoever changed it last wrote it as well. */
function trustedComment({ author, updateAuthor, body, created }: Fields, trust: Trust): readonly WrittenComment[] {
  const person = personOf(author);
  const editor = updateAuthor === undefined ? person : personOf(updateAuthor);
  if (!isTrustedPerson(person, trust) || !isTrustedPerson(editor, trust)) return [];
  const text = adfToMarkdown(body);
  if (text.trim() === '') return [];
  const login = person?.displayName ?? null;
  return [{ login, isMember: null, body: text, created_at: normal(textOf(created)) }];
}

/** UTC, as everywhere. */
function normal(time: string | null): string | null {
  const ms = Date.parse(time ?? '');
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}
