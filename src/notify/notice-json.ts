import { ERRORS } from '../domain/error-table.js';
import { assertNever, type Json, type JsonObject } from '../domain/json.js';
import type { Question } from '../domain/run-signal.js';
import { PARKED_TEXTS } from '../text/parked-reasons.js';
import type { Notice, NoticeIssue, OutgoingNotice, ParkedNotice } from './notice.js';
import { type Cleaner, plainLine, plainLines, summaryOf, type TextContext, textOf, webAddress } from './notice-text.js';

const MAX_WORDS_LENGTH = 4_000;
const MAX_LINE_LENGTH = 500;
const MAX_FIELDS = 50;
const MAX_OPTIONS = 50;
const MAX_REPORT_LENGTH = 100_000;

interface NoticeContext extends Cleaner {
  /** WORKFLOW.md */
  readonly workflow: { readonly path: string; readonly dir: string };
  /** The address of the daemon's page, for an issue or for all; null without a page. */
  page(identifier: string | null): string | null;
  readonly isTest?: boolean;
}

/**
 * The JSON of a notice, as in docs/notifications.md. Every key is always present; a value that does not apply is null. Chats use `text`
 * alone, everything else is for scripts. `missed`: how many notices before it were not delivered.
 */
export function noticeJson({ notice, repeated }: OutgoingNotice, missed: number, context: NoticeContext): JsonObject {
  const issue = 'issue' in notice ? notice.issue : null;
  const action = actionOf(notice);
  const url = context.page(issue?.identifier ?? null);
  const isTest = context.isTest ?? false;
  const { workflow, mask } = context;
  const forText: TextContext = { mask, workflowDir: workflow.dir, action, url, repeated, missed, isTest };
  return {
    source: 'baton',
    version: 1,
    kind: notice.kind,
    at: new Date(notice.atMs).toISOString(),
    summary: summaryOf(notice, forText),
    text: textOf(notice, forText),
    workflow: workflow.path,
    url,
    issue: issue && issueJson(issue, context),
    question: 'question' in notice && notice.question ? questionJson(notice.question, context) : null,
    reason: reasonOf(notice),
    code: notice.kind === 'hold' ? notice.hold.code : null,
    message: messageOf(notice, context),
    action,
    runs: notice.kind === 'done' ? notice.runs : null,
    tokens: notice.kind === 'done' ? notice.tokens : null,
    counts: notice.kind === 'digest' ? notice.counts : null,
    report: notice.kind === 'daily_report' ? bounded(notice.report) : null,
    repeated,
    missed,
    test: isTest,
  };
}

function issueJson({ id, identifier, title, url, state }: NoticeIssue, cleaner: Cleaner): JsonObject {
  const line = (text: string) => plainLine(text, MAX_LINE_LENGTH, cleaner);
  const address = webAddress(url);
  return {
    id: line(id),
    identifier: line(identifier),
    title: line(title),
    state: line(state),
    url: address && plainLine(address, 2_000, cleaner),
  };
}

function questionJson({ id, kind, text, fields, isCut }: Question, cleaner: Cleaner): JsonObject {
  const line = (given: string) => plainLine(given, MAX_LINE_LENGTH, cleaner);
  return {
    id: line(id),
    kind,
    text: plainLines(text, MAX_WORDS_LENGTH, cleaner),
    fields: fields.slice(0, MAX_FIELDS).map((field) => ({
      id: line(field.id),
      label: line(field.label),
      options: field.options.slice(0, MAX_OPTIONS).map(line),
    })),
    ...(isCut ? { is_cut: true } : {}),
  };
}

/** The case within the kind of notice. */
function reasonOf(notice: Notice): string | null {
  switch (notice.kind) {
    case 'asking':
      return notice.question.kind;
    case 'parked':
      return notice.reason;
    case 'hold':
      return notice.event;
    case 'done':
      return notice.isTerminal ? 'terminal' : 'handed_over';
    case 'daily_report':
    case 'digest':
      return null;
    default:
      return assertNever(notice);
  }
}

function messageOf(notice: Notice, cleaner: Cleaner): string | null {
  switch (notice.kind) {
    case 'parked':
      return plainLines(notice.message, MAX_WORDS_LENGTH, cleaner);
    case 'hold':
      return plainLines(notice.hold.message, MAX_WORDS_LENGTH, cleaner);
    case 'daily_report':
      return plainLines(notice.text, MAX_WORDS_LENGTH, cleaner);
    case 'asking':
    case 'done':
    case 'digest':
      return null;
    default:
      return assertNever(notice);
  }
}

/** A receiver that rejects large bodies would lose the whole notice. */
function bounded(report: JsonObject): Json {
  return JSON.stringify(report).length > MAX_REPORT_LENGTH ? null : report;
}

/** What a person can do; null when nothing needs to be done. */
function actionOf(notice: Notice): string | null {
  switch (notice.kind) {
    case 'asking':
      return `Answer with \`baton answer ${word(notice.issue.identifier)}\`.`;
    case 'parked':
      return parkedAction(notice);
    case 'hold':
      return notice.event === 'begun' ? ERRORS[notice.hold.code].action : null;
    case 'digest':
      return '`baton status` lists them all.';
    case 'done':
    case 'daily_report':
      return null;
    default:
      return assertNever(notice);
  }
}

function parkedAction({ reason, question, issue }: ParkedNotice): string {
  const name = word(issue.identifier);
  if (question !== null) return `Answer with \`baton answer ${name}\`; a change of the issue frees it too.`;
  const action = PARKED_TEXTS[reason].action(name);
  return `${action.charAt(0).toUpperCase()}${action.slice(1)}.`;
}

/** People copy the command into a shell. An identifier that is no plain word is left for them to fill in. */
function word(identifier: string): string {
  return /^[A-Za-z0-9_][A-Za-z0-9_.#/:-]{0,99}$/.test(identifier) ? identifier : '<issue>';
}
