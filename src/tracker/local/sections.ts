export type SectionKind = 'description' | 'criteria' | 'done' | 'plan' | 'notes' | 'comments' | 'summary';

/** A part of a task's body that Backlog.md knows. Offsets are those of the text it was found in. */
export interface Section {
  readonly kind: SectionKind;
  readonly title: string;
  readonly start: number;
  readonly end: number;
  /** What stands between the markers, or below the heading where there are none. */
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
export const COMMENTS = SHAPES[5] as Shape;

/** Headings that end a section without markers, as Backlog.md has it. */
export const KNOWN_TITLES = [
  ...SHAPES.map(({ title }) => title),
  'Acceptance Criteria (Optional)',
  'Implementation Plan (Optional)',
  'Implementation Notes (Optional)',
  'Notes',
  'Notes & Comments (Optional)',
];
const KNOWN_KEYS = new Set(KNOWN_TITLES.map((title) => title.toLowerCase()));

/** The sections of `text` from `from` on, in order. A heading inside of another section is text of that section. */
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
 * The line that holds the end marker, for each line that is a begin marker and has one. Sections but comments may hold their
 * own markers, in pairs. In one pass: looking from each begin marker anew takes minutes for a file of nothing else.
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
