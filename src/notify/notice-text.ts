import { basename } from 'node:path';
import { NOTICE_KINDS } from '../domain/config.js';
import { assertNever } from '../domain/json.js';
import type { Question } from '../domain/run-signal.js';
import { counted, formatTokens } from '../text/format-numbers.js';
import { formatDuration } from '../text/format-time.js';
import { neutralise, neutraliseLines } from '../text/neutralise.js';
import type { DigestNotice, HoldNotice, Notice, NoticeIssue } from './notice.js';

export const MAX_TEXT_LENGTH = 2_000;
const MAX_SUMMARY_LENGTH = 200;
const MAX_QUOTED_LENGTH = 900;
const MAX_QUOTED_LINES = 12;

export interface TextContext extends Cleaner {
  /** The folder of WORKFLOW.md, which distinguishes several daemons. */
  readonly workflowDir: string;
  readonly action: string | null;
  readonly url: string | null;
  readonly repeated: number;
  readonly missed: number;
  readonly isTest: boolean;
}

/** The first line, as plain text. */
export function summaryOf(notice: Notice, context: TextContext): string {
  const project = plainLine(basename(context.workflowDir), 60, context);
  return cut(`${context.isTest ? 'Test: ' : ''}${sentenceOf(notice, project, context)}`, MAX_SUMMARY_LENGTH);
}

/** For a chat: the first line, quoted text of others, what to do, and a link. */
export function textOf(notice: Notice, context: TextContext): string {
  const { action, repeated, missed } = context;
  const quoted = plainLines(foreignText(notice) ?? '', MAX_QUOTED_LENGTH, context);
  const address = context.url ?? ('issue' in notice ? webAddress(notice.issue.url) : null);
  const lines = [
    chatText(summaryOf(notice, context)),
    ...(notice.kind === 'daily_report' ? [chatText(plainLines(notice.text, 1_600, context))] : []),
    ...(quoted === '' ? [] : [chatQuote(quoted, MAX_QUOTED_LINES)]),
    ...(notice.kind === 'done'
      ? [`${counted(notice.runs, 'run')}, ${formatTokens(notice.tokens)} ${notice.tokens === 1 ? 'token' : 'tokens'}`]
      : []),
    ...(action === null ? [] : [chatText(action)]),
    ...(address === null ? [] : [chatText(plainLine(address, 300, context))]),
    ...(repeated > 0 ? [`(the last of ${counted(repeated, 'notice')} that were held back as repeats)`] : []),
    ...(missed > 0 ? [`(${counted(missed, 'earlier notice')} could not be delivered)`] : []),
  ];
  return cut(lines.join('\n'), MAX_TEXT_LENGTH);
}

function sentenceOf(notice: Notice, project: string, cleaner: Cleaner): string {
  switch (notice.kind) {
    case 'asking':
      return `${nameOf(notice.issue, cleaner)} needs an answer: ${titleOf(notice.issue, cleaner)}`;
    case 'parked':
      return `${nameOf(notice.issue, cleaner)} is parked (${notice.reason}): ${titleOf(notice.issue, cleaner)}`;
    case 'done': {
      const state = plainLine(notice.issue.state, 40, cleaner);
      const what = notice.isTerminal ? 'is done' : 'was handed over';
      return `${nameOf(notice.issue, cleaner)} ${what} (${state}): ${titleOf(notice.issue, cleaner)}`;
    }
    case 'hold':
      return holdSentence(notice, project);
    case 'digest':
      return `And ${totalOf(notice)} more in ${project}: ${countsOf(notice)}`;
    case 'daily_report':
      return `Daily report of ${project}`;
    default:
      return assertNever(notice);
  }
}

function holdSentence({ event, hold, atMs }: HoldNotice, project: string): string {
  if (event === 'begun') return `Baton is on hold in ${project} (${hold.code}): nothing new is started`;
  return `Baton goes on in ${project}: the hold is over (${hold.code}) after ${formatDuration(atMs - hold.sinceMs)}`;
}

/** Text of an agent, a tracker or an error. */
function foreignText(notice: Notice): string | null {
  switch (notice.kind) {
    case 'asking':
      return questionWords(notice.question);
    case 'parked':
      return notice.question === null ? notice.message : `${notice.message}\n${questionWords(notice.question)}`;
    case 'hold':
      return notice.event === 'begun' ? notice.hold.message : null;
    case 'digest':
      return notice.identifiers.join(', ');
    case 'done':
    case 'daily_report':
      return null;
    default:
      return assertNever(notice);
  }
}

/** The question with its options. */
function questionWords({ text, fields }: Question): string {
  const blanks = fields
    .filter(({ label, options }) => options.length > 0 || !text.includes(label))
    .map(({ label, options }) => [label, ...(options.length === 0 ? [] : [options.join(' / ')])].join(' – '));
  return [text, ...blanks].join('\n');
}

function nameOf({ identifier }: NoticeIssue, cleaner: Cleaner): string {
  return plainLine(identifier, 60, cleaner);
}

function titleOf({ title }: NoticeIssue, cleaner: Cleaner): string {
  return plainLine(title, MAX_SUMMARY_LENGTH, cleaner);
}

function countsOf({ counts }: DigestNotice): string {
  return NOTICE_KINDS.flatMap((kind) => (counts[kind] === undefined ? [] : [`${counts[kind]} ${kind}`])).join(', ');
}

function totalOf({ counts }: DigestNotice): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/**
 * Cleans text of issues and agents for people. In chats that read it as Slack or as Markdown, nothing in it may be a mention, a link with
 * another text or a tag. `<!channel>` is escaped for Slack; an invisible space breaks `@here` and `[text](url)` for others.
 */
export interface Cleaner {
  /** Masks known secrets. It runs first: cut or escaped secrets would not be found. */
  mask(text: string): string;
}

const GAP = '\u200b';

/** One line of plain text. */
export function plainLine(text: string, maxLength: number, { mask }: Cleaner): string {
  const oneLine = mask(text).replace(/\s+/g, ' ').trim();
  return cut(neutralise(oneLine), maxLength);
}

/** Plain text that may have several lines. */
export function plainLines(text: string, maxLength: number, { mask }: Cleaner): string {
  return cut(neutraliseLines(mask(text).replace(/\r\n?/g, '\n')).trim(), maxLength);
}

/** For chats: escapes a plain text. */
function chatText(plain: string): string {
  const escaped = plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped.replace(/@(?=[\p{L}\p{N}_])/gu, `@${GAP}`).replaceAll('](', `]${GAP}(`);
}

/** The same as a quotation, so that no line of it passes for a line of Baton. */
function chatQuote(plain: string, maxLines: number): string {
  const lines = plain.split('\n').filter((line) => line.trim() !== '');
  const shown = lines.length > maxLines ? [...lines.slice(0, maxLines), '…'] : lines;
  return shown.map((line) => `> ${chatText(line)}`).join('\n');
}

/** Shortens a text without cutting through a character or an escape. */
function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const kept = text.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '');
  return `${kept.replace(/&[a-z]{0,4}$/, '')}…`;
}

/** Returns the address if it is a web link: the address of an issue is text of the tracker. */
export function webAddress(url: string | null): string | null {
  if (url === null || !URL.canParse(url)) return null;
  const { protocol, href } = new URL(url);
  return protocol === 'http:' || protocol === 'https:' ? href : null;
}
