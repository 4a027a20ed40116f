import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  Parser,
  parseDocument,
  type Scalar,
  visit,
} from 'yaml';
import { isNestedDeeper } from '../../domain/json.js';
import { findSections, parseBacklogDate, parseComments, type Section, UnreadableTaskError } from './sections.js';

/** The content of a task file. */
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
  /** The work to do, without plan, notes and comments. */
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

/** Throws `UnreadableTaskError`. */
export function parseTask(text: string): Task {
  const front = parseFrontMatter(text);
  const required = (key: string): string => {
    const value = front.text(key);
    if (value === null) throw new UnreadableTaskError(`has no ${key} in its front matter`);
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

/** Log lines begin with the id, so it must not contain blanks. */
function plainId(id: string): string {
  if (id.length <= MAX_ID_CHARS && !/[\s\p{C}]/u.test(id)) return id;
  throw new UnreadableTaskError(
    `has an id with blanks or control characters, or of more than ${MAX_ID_CHARS} characters`,
  );
}

/** Everything except plan, notes, comments and summary. People also write under their own headings. */
function descriptionOf(text: string, bodyStart: number, sections: readonly Section[]): string {
  const texts: string[] = [];
  let at = bodyStart;
  for (const section of sections) {
    texts.push(text.slice(at, section.start), descriptionIn(text, section));
    at = section.end;
  }
  texts.push(text.slice(at));
  return texts
    .map(tidy)
    .filter((part) => part !== '')
    .join('\n\n');
}

function descriptionIn(text: string, section: Section): string {
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
        return body === '' ? [] : [anonymousComment(body)];
      case 'plan':
      case 'notes':
      case 'summary':
        return body === '' ? [] : [anonymousComment(`## ${section.title}\n\n${body}`)];
      default:
        return [];
    }
  });
}

function anonymousComment(body: string): Task['comments'][number] {
  return { author: null, body, created_at: null };
}

/** With `\n` as line end and without blank lines at both ends. */
function tidy(part: string): string {
  return part
    .replaceAll('\r\n', '\n')
    .replace(/^(?:[ \t]*\n)+/, '')
    .trimEnd();
}

/** Limits the time to parse the front matter. */
const MAX_CHARS = 65_536;
/** Aliases can repeat a long text many times. */
const MAX_ITEMS = 500;
const MAX_ITEM_CHARS = 500;
const OPENING = /^\uFEFF?---[ \t]*\r?\n/;
const CLOSING = /^---[ \t]*\r?$/m;

/** The settings of a task with their positions in the file. */
export interface FrontMatter {
  /** Where the YAML begins in the file. Ranges of nodes count from here. */
  readonly start: number;
  readonly bodyStart: number;
  readonly isFlow: boolean;
  pair(key: string): Pair<Scalar, unknown> | null;
  /** The value as written; `null` for empty values and lists. */
  text(key: string): string | null;
  /** A single value is a list of one. */
  list(key: string): string[];
}

/** Throws `UnreadableTaskError`. `text` may begin with a byte order mark, and its lines may end in CRLF. */
export function parseFrontMatter(text: string): FrontMatter {
  const opening = OPENING.exec(text);
  if (!opening) throw new UnreadableTaskError('does not begin with a `---` line');
  const start = opening[0].length;
  const closing = CLOSING.exec(text.slice(start));
  if (!closing) throw new UnreadableTaskError('has no closing `---` line');
  if (closing.index > MAX_CHARS) throw new UnreadableTaskError(`has front matter of more than ${MAX_CHARS} characters`);
  const document = parseYaml(text.slice(start, start + closing.index));
  const root = document.contents;
  if (!isMap(root)) throw new UnreadableTaskError('has front matter that is not a map of `key: value` lines');

  const pairs = new Map<string, Pair<Scalar, unknown>>();
  for (const pair of root.items) {
    if (!isScalar(pair.key)) throw new UnreadableTaskError('has a key that is not plain text');
    const key = String(pair.key.value);
    if (pairs.has(key)) throw new UnreadableTaskError(`has the key ${JSON.stringify(key)} twice`);
    pairs.set(key, pair as Pair<Scalar, unknown>);
  }
  const resolve = aliasResolver(document);
  const nodeOf = (key: string) => resolve(pairs.get(key)?.value);
  return {
    start,
    // After the line end of the closing fence, if it has one.
    bodyStart: Math.min(text.length, start + closing.index + closing[0].length + 1),
    isFlow: root.flow === true,
    pair: (key) => pairs.get(key) ?? null,
    text: (key) => scalarText(nodeOf(key)),
    list: (key) => {
      const value = nodeOf(key);
      const items = isSeq(value) ? value.items : [value];
      if (items.length > MAX_ITEMS) throw new UnreadableTaskError(`has more than ${MAX_ITEMS} ${key}`);
      const texts = items.map((item) => scalarText(resolve(item))).filter((item) => item !== null);
      if (texts.every((text) => text.length <= MAX_ITEM_CHARS)) return texts;
      throw new UnreadableTaskError(`has ${key} of more than ${MAX_ITEM_CHARS} characters`);
    },
  };
}

function parseYaml(source: string): Document.Parsed {
  const document = parseShallowYaml(source);
  // Backlog.md accepts `assignee: @sara`, which is not valid YAML.
  const error = document.errors.find(({ code, pos }) => code !== 'BAD_SCALAR_START' || source[pos[0]] !== '@');
  if (!error) return document;
  const line = source.slice(0, error.pos[0]).split('\n').length + 1;
  throw new UnreadableTaskError(`has front matter that is not valid YAML (line ${line})`);
}

/**
 * Resolves an alias by one step and never further, so that nested aliases cannot grow. Anchors are collected once; the
 * parser's own method walks through the document for each alias.
 */
function aliasResolver(document: Document.Parsed): (node: unknown) => unknown {
  let targets: Map<unknown, unknown> | null = null;
  return (node) => {
    if (!isAlias(node)) return node;
    targets ??= targetsOf(document);
    return targets.get(node);
  };
}

/** The target of each alias: the last node with that anchor before it. */
function targetsOf(document: Document.Parsed): Map<unknown, unknown> {
  const anchors = new Map<string, unknown>();
  const targets = new Map<unknown, unknown>();
  visit(document, {
    Alias: (_, alias) => {
      targets.set(alias, anchors.get(alias.source));
    },
    Value: (_, node) => {
      if (node.anchor) anchors.set(node.anchor, node);
    },
  });
  return targets;
}

/** Numbers as written: `1.10` is not 1.1. */
function scalarText(node: unknown): string | null {
  if (!isScalar(node) || node.value === null || node.value === undefined) return null;
  const text = typeof node.value === 'string' ? node.value : (node.source ?? String(node.value));
  return text.trim() === '' ? null : text.trim();
}

const MAX_DEPTH = 32;

/** A YAML document with its errors, without expanded aliases. Throws `UnreadableTaskError` for deeply nested texts. */
export function parseShallowYaml(source: string): Document.Parsed {
  try {
    if (!isPlainlyShallow(source) && isNestedDeeper(new Parser().parse(source), MAX_DEPTH))
      throw new UnreadableTaskError(`is nested more than ${MAX_DEPTH} levels deep`);
    // The parser's check for repeated keys is quadratic.
    return parseDocument(source, { prettyErrors: false, uniqueKeys: false, logLevel: 'error' });
  } catch (error) {
    if (error instanceof UnreadableTaskError) throw error;
    throw new UnreadableTaskError('has settings that cannot be parsed', { cause: error });
  }
}

/**
 * Every level needs a bracket, an indicator or a deeper indent. Counting them is much cheaper than parsing twice, and nearly
 * every task passes.
 */
function isPlainlyShallow(source: string): boolean {
  const brackets = source.match(/[[{]/g)?.length ?? 0;
  const perLine = source.split('\n').map((line) => {
    const indent = line.length - line.trimStart().length;
    return 2 * (indent + (line.match(/[-?:](?=\s|$)/g)?.length ?? 0));
  });
  return brackets + perLine.reduce((most, each) => Math.max(most, each), 0) <= MAX_DEPTH;
}
