import { formatBacklogDate, parseBacklogDate } from './backlog-date.js';
import { COMMENTS, KNOWN_TITLES } from './sections.js';

const DELIMITER = '---';
/** Earlier versions of Backlog.md put each comment between these, and the current one still reads them. */
const OLD_BEGIN = '<!-- COMMENT:BEGIN -->';
const OLD_END = '<!-- COMMENT:END -->';
const AUTHOR = 'baton';

interface TaskComment {
  readonly author: string | null;
  readonly body: string;
  readonly created_at: string | null;
}

/** The comments between the markers of the section; lines end in `\n`. */
export function parseComments(body: string): TaskComment[] {
  if (body.includes(OLD_BEGIN)) return parseOld(body);
  const comments: TaskComment[] = [];
  const lines = body.split('\n');
  const parts: string[][] = [[]];
  for (const line of lines) {
    if (line.trim() === DELIMITER) parts.push([]);
    else parts.at(-1)?.push(line);
  }
  // Header, text, header, text, …; what follows the last delimiter is no comment.
  for (let at = 0; at + 2 < parts.length; at += 2) {
    const text = parts[at + 1]?.join('\n').trim() ?? '';
    if (text !== '') comments.push({ ...headerOf(parts[at] ?? []), body: text });
  }
  return comments;
}

/**
 * A comment that can be put between the markers: what would end it, or would be read as another section, is written in
 * another way that looks the same. Blank when nothing is left.
 */
export function harmlessComment(comment: string): string {
  // Encoding replaces halves of surrogate pairs, which no file can hold.
  return Buffer.from(comment, 'utf8')
    .toString('utf8')
    .replace(/\r\n|[\r\v\f\u0085\u2028\u2029]/g, '\n')
    .replace(CONTROLS, '')
    .replace(/<!--(?=\s*(?:COMMENTS?|SECTION|AC|DOD)\s*:)/gi, '<\\!--')
    .replace(HEADINGS, '**$1**')
    .split('\n')
    .map((line) => (line.trim() === DELIMITER ? '- - -' : line))
    .join('\n')
    .trim();
}

/** The lines of a new section that holds one comment. */
export function newCommentsSection(body: string, wallMs: number): string {
  const lines = ['## Comments', '', COMMENTS.begin, ...headerLines(wallMs), DELIMITER, body, DELIMITER, COMMENTS.end];
  return lines.join('\n');
}

/** What to put before the end marker of a section that has `existing` between its markers. */
export function nextComment(existing: string, body: string, wallMs: number): string {
  const isOld = existing.includes(OLD_BEGIN);
  // Somebody left the last comment open; otherwise its text and our header would be one.
  const isOpen = !isOld && existing.split('\n').filter((line) => line.trim() === DELIMITER).length % 2 === 1;
  return [
    ...(existing === '' || existing.endsWith('\n') ? [] : ['']),
    ...(isOpen ? [DELIMITER] : []),
    ...(existing.trim() === '' ? [] : ['']),
    ...(isOld ? [OLD_BEGIN] : []),
    ...headerLines(wallMs),
    ...(isOld ? ['', body, OLD_END] : [DELIMITER, body, DELIMITER]),
    '',
  ].join('\n');
}

function headerLines(wallMs: number): string[] {
  return [`author: ${AUTHOR}`, `created: ${formatBacklogDate(wallMs)}`];
}

/** All but white space: tabs and ends of lines stay. */
const CONTROLS = /(?!\s)\p{Cc}|\ufeff/gu;
const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
/** Backlog.md finds some of its headings in the middle of a line, too. */
const HEADINGS = new RegExp(`(?<!#)#{2,}[ \\t]+(${KNOWN_TITLES.map(escaped).join('|')})(?=\\s*$)`, 'gim');

function parseOld(body: string): TaskComment[] {
  // Cut at the end markers: a search from each begin marker takes minutes where there are only those.
  const inners = body
    .split(/<!-- COMMENT:END -->/i)
    .slice(0, -1)
    .flatMap((part) => {
      const begin = /<!-- COMMENT:BEGIN -->[^\S\n]*\n/i.exec(part);
      return begin ? [part.slice(begin.index + begin[0].length)] : [];
    });
  return inners
    .map((inner) => {
      const [header = '', ...rest] = inner.trim().split(/\n\s*\n/);
      const text = rest.join('\n\n').trim();
      return text === '' ? { ...headerOf([]), body: header } : { ...headerOf(header.split('\n')), body: text };
    })
    .filter((comment) => comment.body !== '');
}

function headerOf(lines: readonly string[]): Pick<TaskComment, 'author' | 'created_at'> {
  const value = (key: string) => {
    const line = lines.find((each) => each.trim().toLowerCase().startsWith(`${key}:`));
    return line?.slice(line.indexOf(':') + 1).trim() || null;
  };
  return { author: value('author'), created_at: parseBacklogDate(value('created')) };
}
