import type { Hold, HoldSource, ParkReason } from '../domain/claim.js';
import type { NoticeKind } from '../domain/config.js';
import type { JsonObject } from '../domain/json.js';
import type { Question } from '../domain/question.js';

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
