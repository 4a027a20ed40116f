export type SectionKind = 'description' | 'criteria' | 'done' | 'plan' | 'notes' | 'comments' | 'summary';

/** A section of a task that Backlog.md knows. Offsets are those of the whole text. */
export interface Section {
  readonly kind: SectionKind;
  readonly title: string;
  readonly start: number;
  readonly end: number;
  /** The text between the markers, or below the heading when there are none. */
  readonly bodyStart: number;
  readonly bodyEnd: number;
  readonly isMarked: boolean;
}

interface Shape {
  readonly kind: SectionKind;
  readonly title: string;
  readonly begin: string;
  readonly end: string;
}

const shape = (kind: SectionKind, title: string, marker: string): Shape => ({
  kind,
  title,
  begin: `<!-- ${marker}:BEGIN -->`,
  end: `<!-- ${marker}:END -->`,
});

const SHAPES: readonly Shape[] = [
  shape('description', 'Description', 'SECTION:DESCRIPTION'),
  shape('criteria', 'Acceptance Criteria', 'AC'),
  shape('done', 'Definition of Done', 'DOD'),
  shape('plan', 'Implementation Plan', 'SECTION:PLAN'),
  shape('notes', 'Implementation Notes', 'SECTION:NOTES'),
  shape('comments', 'Comments', 'COMMENTS'),
  shape('summary', 'Final Summary', 'SECTION:FINAL_SUMMARY'),
];
const COMMENTS = SHAPES[5] as Shape;

/** Headings at which Backlog.md ends a section without markers. */
const KNOWN_TITLES = [
  ...SHAPES.map(({ title }) => title),
  'Acceptance Criteria (Optional)',
  'Implementation Plan (Optional)',
  'Implementation Notes (Optional)',
  'Notes',
  'Notes & Comments (Optional)',
];
const KNOWN_KEYS = new Set(KNOWN_TITLES.map((title) => title.toLowerCase()));

/** The sections of `text` after `from`, in order. A heading inside another section belongs to that section's text. */
export function findSections(text: string, from: number): Section[] {
  const lines = linesOf(text, from);
  const ends = endMarkers(lines);
  const sections: Section[] = [];
  for (let at = 0; at < lines.length; ) {
    const found = sectionAt(lines, ends, at, text.length);
    if (found) sections.push(found.section);
    at = found ? found.next : at + 1;
  }
  return sections;
}

interface Line {
  readonly start: number;
  readonly next: number;
  readonly text: string;
}

function linesOf(text: string, from: number): Line[] {
  const lines: Line[] = [];
  for (let start = from; start < text.length; ) {
    const newline = text.indexOf('\n', start);
    const next = newline === -1 ? text.length : newline + 1;
    lines.push({ start, next, text: text.slice(start, next).trimEnd() });
    start = next;
  }
  return lines;
}

function sectionAt(
  lines: readonly Line[],
  ends: ReadonlyMap<number, number>,
  at: number,
  length: number,
): { section: Section; next: number } | null {
  const line = lines[at] as Line;
  const title = titleOf(line);
  const known = SHAPES.find((each) => each.title.toLowerCase() === title || each.begin === line.text);
  if (!known) return null;
  const begin = title === null ? at : firstFilled(lines, at + 1);
  const end = lines[begin]?.text === known.begin ? ends.get(begin) : undefined;
  if (end !== undefined) {
    const last = lines[end] as Line;
    const markerStart = last.start + last.text.indexOf(known.end);
    const bounds = { start: line.start, end: markerStart + known.end.length };
    const body = { bodyStart: (lines[begin] as Line).next, bodyEnd: markerStart };
    return { section: { ...known, ...bounds, ...body, isMarked: true }, next: end + 1 };
  }
  if (title === null) return null;
  let next = at + 1;
  while (next < lines.length && !isKnownHeading(lines[next] as Line)) next += 1;
  const stop = lines[next]?.start ?? length;
  const bounds = { start: line.start, end: stop, bodyStart: line.next, bodyEnd: stop };
  return { section: { ...known, ...bounds, isMarked: false }, next };
}

/**
 * Maps the line of each begin marker to the line of its end marker. All sections except comments may contain pairs of their own
 * markers. Works in one pass: a search from each begin marker would be quadratic.
 */
function endMarkers(lines: readonly Line[]): ReadonlyMap<number, number> {
  const ends = new Map<number, number>();
  const open = new Map<SectionKind, number[]>(SHAPES.map(({ kind }) => [kind, []]));
  for (const [at, { text }] of lines.entries()) {
    if (!text.includes('<!-- ')) continue;
    for (const { kind, begin, end } of SHAPES) {
      const begun = open.get(kind) as number[];
      if (kind === 'comments' && text.includes(end)) for (const one of begun.splice(0)) ends.set(one, at);
      if (text === begin) begun.push(at);
      else if (text === end && begun.length > 0) ends.set(begun.pop() as number, at);
    }
  }
  return ends;
}

function firstFilled(lines: readonly Line[], from: number): number {
  let at = from;
  while (at < lines.length && lines[at]?.text.trim() === '') at += 1;
  return at;
}

function titleOf({ text }: Line): string | null {
  return /^## +(.+)$/.exec(text)?.[1]?.toLowerCase() ?? null;
}

function isKnownHeading(line: Line): boolean {
  const title = titleOf(line);
  return title !== null && KNOWN_KEYS.has(title);
}

const DELIMITER = '---';
/** Earlier versions of Backlog.md write each comment between these markers. The current one still reads them. */
const OLD_BEGIN = '<!-- COMMENT:BEGIN -->';
const OLD_END = '<!-- COMMENT:END -->';
const AUTHOR = 'baton';

interface TaskComment {
  readonly author: string | null;
  readonly body: string;
  readonly created_at: string | null;
}

/** The comments in the body of a section, whose lines end in `\n`. */
export function parseComments(body: string): TaskComment[] {
  if (body.includes(OLD_BEGIN)) return parseOld(body);
  const comments: TaskComment[] = [];
  const lines = body.split('\n');
  const blocks: string[][] = [[]];
  for (const line of lines) {
    if (line.trim() === DELIMITER) blocks.push([]);
    else blocks.at(-1)?.push(line);
  }
  // Header, text, header, text, …; the text after the last delimiter is not a comment.
  for (let at = 0; at + 2 < blocks.length; at += 2) {
    const text = blocks[at + 1]?.join('\n').trim() ?? '';
    if (text !== '') comments.push({ ...headerOf(blocks[at] ?? []), body: text });
  }
  return comments;
}

/**
 * A comment that is safe between the markers: text that would end the comment or begin a section is replaced by text that looks
 * the same. Empty when nothing is left.
 */
export function harmlessComment(comment: string): string {
  // Encoding replaces lone surrogates, which no file can hold.
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

/** A new section with one comment. */
export function newCommentsSection(body: string, wallMs: number): string {
  const lines = ['## Comments', '', COMMENTS.begin, ...headerLines(wallMs), DELIMITER, body, DELIMITER, COMMENTS.end];
  return lines.join('\n');
}

/** The text to insert before the end marker of a section with the body `existing`. */
export function nextComment(existing: string, body: string, wallMs: number): string {
  const isOld = existing.includes(OLD_BEGIN);
  // The last comment has no closing delimiter: without one, its text and our header would merge.
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

/** Except white space: tabs and line ends stay. */
const CONTROLS = /(?!\s)\p{Cc}|\ufeff/gu;
const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
/** Backlog.md also finds some of its headings in the middle of a line. */
const HEADINGS = new RegExp(`(?<!#)#{2,}[ \\t]+(${KNOWN_TITLES.map(escaped).join('|')})(?=\\s*$)`, 'gim');

function parseOld(body: string): TaskComment[] {
  // Split at the end markers: a search from each begin marker would be quadratic.
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

const SORTABLE = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2})(:\d{2}(?:\.\d{1,9})?)?\s*(Z|[+-]\d{2}:?\d{2})?)?$/i;
/** Older versions of Backlog.md write day, month and year with two digits each. */
const DAY_FIRST = /^(\d{2})([-/.])(\d{2})\2(\d{2})$/;

/** The ISO time in UTC, which is also Backlog.md's default zone; `null` for invalid dates. */
export function parseBacklogDate(written: string | null): string | null {
  const text = written?.trim() ?? '';
  const old = DAY_FIRST.exec(text);
  const match = SORTABLE.exec(old ? `20${old[4]}-${old[3]}-${old[1]}` : text);
  if (!match) return null;
  const [, day, time = '00:00', seconds = ':00', zone = 'Z'] = match;
  const ms = Date.parse(`${day}T${time}${seconds}${zone.toUpperCase()}`);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

/** In the format of Backlog.md. */
export function formatBacklogDate(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 16).replace('T', ' ');
}

/** A file that is not a valid task. The message continues the file's name: "has no id …". */
export class UnreadableTaskError extends Error {}
