import type { Hold, HoldSource, ParkReason } from '../domain/claim.js';
import type { Instant } from '../domain/clock.js';
import type { NoticeKind } from '../domain/config.js';
import { assertNever, type JsonObject } from '../domain/json.js';
import type { Question } from '../domain/run-signal.js';

/** Something that people are to be told, as data: what is made of it for a chat or a script is in notice-json.ts. */
export type Notice = AskingNotice | ParkedNotice | HoldNotice | DoneNotice | ReportNotice | DigestNotice;

interface NoticeBase {
  readonly kind: NoticeKind | 'digest';
  readonly atMs: number;
}

export interface NoticeIssue {
  readonly id: string;
  readonly identifier: string;
  readonly title: string;
  readonly url: string | null;
  readonly state: string;
}

export interface AskingNotice extends NoticeBase {
  readonly kind: 'asking';
  readonly issue: NoticeIssue;
  readonly question: Question;
}

export interface ParkedNotice extends NoticeBase {
  readonly kind: 'parked';
  readonly issue: NoticeIssue;
  readonly reason: ParkReason;
  readonly message: string;
  /** What it was parked with; it can be answered. */
  readonly question: Question | null;
}

export interface HoldNotice extends NoticeBase {
  readonly kind: 'hold';
  readonly event: 'begun' | 'over';
  readonly source: HoldSource;
  readonly hold: Pick<Hold, 'code' | 'message' | 'sinceMs'>;
}

export interface DoneNotice extends NoticeBase {
  readonly kind: 'done';
  readonly issue: NoticeIssue;
  /** `false`: it was handed over to people, as for a review. */
  readonly isTerminal: boolean;
  readonly runs: number;
  readonly tokens: number;
}

export interface ReportNotice extends NoticeBase {
  readonly kind: 'daily_report';
  readonly text: string;
  readonly report: JsonObject;
}

/** Stands for many that came in a burst, see collapse.ts. */
export interface DigestNotice extends NoticeBase {
  readonly kind: 'digest';
  readonly counts: { readonly [kind in NoticeKind]?: number };
  /** Of some of them, the first ones. */
  readonly identifiers: readonly string[];
}

/** A notice on its way. */
export interface Told {
  readonly notice: Notice;
  /** 0: told as it came. Else so many alike were held back, and this is the last of them. */
  readonly repeated: number;
}

const SAMPLE_ISSUE: NoticeIssue = {
  id: 'SAMPLE-1',
  identifier: 'SAMPLE-1',
  title: 'A sample issue, which does not exist',
  url: null,
  state: 'In Progress',
};

/** For `baton notify test`, and for whoever writes a receiver. */
export function sampleNotice(kind: NoticeKind, atMs: number): Notice {
  const issue = SAMPLE_ISSUE;
  switch (kind) {
    case 'asking': {
      const fields = [{ id: 'version', label: 'Which version?', options: ['1.0.0', '1.1.0'] }];
      const question = { id: 'sample', kind: 'input', text: 'Which version shall I publish?', fields } as const;
      return { kind, atMs, issue, question };
    }
    case 'parked':
      return { kind, atMs, issue, reason: 'no_progress', message: '3 runs left the issue as it was', question: null };
    case 'hold': {
      const hold = {
        code: 'agent_unauthorized',
        message: 'the login of the agent has expired',
        sinceMs: atMs,
      } as const;
      return { kind, atMs, event: 'begun', source: 'agent', hold };
    }
    case 'done':
      return { kind, atMs, issue: { ...issue, state: 'Done' }, isTerminal: true, runs: 2, tokens: 48_000 };
    case 'daily_report':
      return { kind, atMs, text: 'Nothing was done: this is a sample.', report: { sample: true } };
    default:
      return assertNever(kind);
  }
}

/** Days that are remembered: a clock that is set back over midnight must not bring yesterday's report again. */
const DAYS_KEPT = 5;

/**
 * When the next daily report is due, at a local time such as `09:00`; a time in the past: now. Once for each local day, however long
 * the day is and however often its hour comes. A time that daylight saving leaves out is an hour later.
 */
export function nextReportAtMs(now: Omit<Instant, 'awakeMs'>, reportAt: string, toldDays: readonly string[]): number {
  if (!toldDays.includes(now.day)) return reportTodayMs(now, reportAt);
  const tomorrow = new Date(now.dayEndsAtMs);
  return timeOn(tomorrow.getFullYear(), tomorrow.getMonth(), tomorrow.getDate(), reportAt);
}

export function reportTodayMs({ day, dayEndsAtMs }: Omit<Instant, 'awakeMs'>, reportAt: string): number {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return Math.min(timeOn(year, month - 1, date, reportAt), dayEndsAtMs - 1);
}

export function withDay(toldDays: readonly string[], day: string): readonly string[] {
  return [...toldDays.filter((one) => one !== day), day].slice(-DAYS_KEPT);
}

function timeOn(year: number, month: number, date: number, reportAt: string): number {
  const [hours = 0, minutes = 0] = reportAt.split(':').map(Number);
  return new Date(year, month, date, hours, minutes).getTime();
}
