import type { Hold, HoldSource, ParkReason } from '../domain/claim.js';
import type { NoticeKind } from '../domain/config.js';
import { assertNever, type JsonObject } from '../domain/json.js';
import type { Question } from '../domain/run-signal.js';

/** A notice as data. notice-json.ts makes the text for chats and scripts from it. */
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
  /** The open question that it was parked with. It can still be answered. */
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
  /** False when it was handed over, such as for a review. */
  readonly isTerminal: boolean;
  readonly runs: number;
  readonly tokens: number;
}

export interface ReportNotice extends NoticeBase {
  readonly kind: 'daily_report';
  readonly text: string;
  readonly report: JsonObject;
}

/** Replaces the many notices of a burst, see collapse.ts. */
export interface DigestNotice extends NoticeBase {
  readonly kind: 'digest';
  readonly counts: { readonly [kind in NoticeKind]?: number };
  /** Of the first notices. */
  readonly identifiers: readonly string[];
}

/** A notice to be sent. */
export interface OutgoingNotice {
  readonly notice: Notice;
  /** How many notices of its kind were held back before it. 0: none. */
  readonly repeated: number;
}

const SAMPLE_ISSUE: NoticeIssue = {
  id: 'SAMPLE-1',
  identifier: 'SAMPLE-1',
  title: 'A sample issue that does not exist',
  url: null,
  state: 'In Progress',
};

/** For `baton notify test`. */
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
      return { kind, atMs, text: 'This is a sample: nothing was done.', report: { sample: true } };
    default:
      return assertNever(kind);
  }
}
