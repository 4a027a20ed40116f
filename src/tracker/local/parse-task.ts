import { parseBacklogDate } from './backlog-date.js';
import { parseComments } from './comments.js';
import { parseFrontMatter } from './front-matter.js';
import { findSections, type Section } from './sections.js';
import { TaskUnreadable } from './task-unreadable.js';

/** What the file of a task says. */
export interface Task {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly assignee: string | null;
  readonly labels: readonly string[];
  readonly dependencies: readonly string[];
  readonly priority: number | null;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  /** What is to be done; not what was planned, noted or said about it. */
  readonly description: string;
  readonly comments: readonly {
    readonly author: string | null;
    readonly body: string;
    readonly created_at: string | null;
  }[];
}

const MAX_ID_CHARS = 100;
const PRIORITIES: ReadonlyMap<string, number> = new Map([
  ['critical', 1],
  ['urgent', 1],
  ['high', 2],
  ['medium', 3],
  ['low', 4],
]);

/** Throws `TaskUnreadable`. */
export function parseTask(text: string): Task {
  const front = parseFrontMatter(text);
  const required = (key: string): string => {
    const value = front.text(key);
    if (value === null) throw new TaskUnreadable(`has no ${key} in its front matter`);
    return value;
  };
  const sections = findSections(text, front.bodyStart);
  return {
    id: plainId(required('id')),
    title: required('title'),
    status: required('status'),
    assignee: front.list('assignee')[0] ?? null,
    labels: front.list('labels'),
    dependencies: front.list('dependencies'),
    priority: PRIORITIES.get(front.text('priority')?.toLowerCase() ?? '') ?? null,
    createdAt: parseBacklogDate(front.text('created_date')),
    updatedAt: parseBacklogDate(front.text('updated_date')),
    description: descriptionOf(text, front.bodyStart, sections),
    comments: commentsOf(text, sections),
  };
}

/** It stands at the beginning of lines that people read: with blanks in it, it could say anything there. */
function plainId(id: string): string {
  if (id.length <= MAX_ID_CHARS && !/[\s\p{C}]/u.test(id)) return id;
  throw new TaskUnreadable(`has an id with blanks or control characters, or of more than ${MAX_ID_CHARS} characters`);
}

/** Everything but what is said in plan, notes, comments and summary: people write under headings of their own, too. */
function descriptionOf(text: string, bodyStart: number, sections: readonly Section[]): string {
  const parts: string[] = [];
  let at = bodyStart;
  for (const section of sections) {
    parts.push(text.slice(at, section.start), said(text, section));
    at = section.end;
  }
  parts.push(text.slice(at));
  return parts
    .map(tidy)
    .filter((part) => part !== '')
    .join('\n\n');
}

function said(text: string, section: Section): string {
  const body = tidy(text.slice(section.bodyStart, section.bodyEnd));
  if (section.kind === 'description' || body === '') return section.kind === 'description' ? body : '';
  return section.kind === 'criteria' || section.kind === 'done' ? `## ${section.title}\n\n${body}` : '';
}

function commentsOf(text: string, sections: readonly Section[]): Task['comments'] {
  return sections.flatMap((section) => {
    const body = tidy(text.slice(section.bodyStart, section.bodyEnd));
    switch (section.kind) {
      case 'comments':
        if (section.isMarked) return parseComments(body);
        return body === '' ? [] : [remark(body)];
      case 'plan':
      case 'notes':
      case 'summary':
        return body === '' ? [] : [remark(`## ${section.title}\n\n${body}`)];
      default:
        return [];
    }
  });
}

function remark(body: string): Task['comments'][number] {
  return { author: null, body, created_at: null };
}

/** Lines end in `\n`; without blank lines at both ends. */
function tidy(part: string): string {
  return part
    .replaceAll('\r\n', '\n')
    .replace(/^(?:[ \t]*\n)+/, '')
    .trimEnd();
}
