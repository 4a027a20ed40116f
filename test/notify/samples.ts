import type { ParkReason } from '../../src/domain/claim.js';
import type { ErrorCode } from '../../src/domain/errors.js';
import type { Question } from '../../src/domain/run-signal.js';
import type {
  AskingNotice,
  DoneNotice,
  HoldNotice,
  NoticeIssue,
  ParkedNotice,
  ReportNotice,
} from '../../src/notify/notice.js';
import { EPOCH_MS } from '../support/fake-clock.js';

/** Sample notices. A test sets only the fields it needs. */
const about = (id: string, more: Partial<NoticeIssue> = {}): NoticeIssue => ({
  id,
  identifier: id,
  title: `Title of ${id}`,
  url: null,
  state: 'Todo',
  ...more,
});

export function asking(
  id: string,
  question: string | Partial<Question> = 'q',
  more: Partial<NoticeIssue> = {},
): AskingNotice {
  const given = typeof question === 'string' ? { id: question } : question;
  const whole = { id: 'q', kind: 'approval', text: 'May I?', fields: [], ...given } as const;
  return { kind: 'asking', atMs: EPOCH_MS, issue: about(id, more), question: whole };
}

export function parked(id: string, reason: ParkReason = 'no_progress', more: Partial<ParkedNotice> = {}): ParkedNotice {
  return {
    kind: 'parked',
    atMs: EPOCH_MS,
    issue: about(id),
    reason,
    message: 'nothing changed',
    question: null,
    ...more,
  };
}

export function done(id: string, isTerminal = true, more: Partial<NoticeIssue> = {}): DoneNotice {
  const issue = about(id, { state: isTerminal ? 'Done' : 'Review', ...more });
  return { kind: 'done', atMs: EPOCH_MS, issue, isTerminal, runs: 2, tokens: 48_000 };
}

export function hold(
  event: 'begun' | 'over',
  code: ErrorCode = 'agent_unauthorized',
  message = 'log in again',
): HoldNotice {
  return { kind: 'hold', atMs: EPOCH_MS, event, source: 'agent', hold: { code, message, sinceMs: EPOCH_MS - 720_000 } };
}

export function report(text = 'Two issues were done.'): ReportNotice {
  return { kind: 'daily_report', atMs: EPOCH_MS, text, report: { done: 2 } };
}
