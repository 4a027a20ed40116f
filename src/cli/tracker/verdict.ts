/** `told`: there is no right or wrong. */
export interface Verdict extends Said {
  readonly mark: 'passed' | 'failed' | 'told' | 'skipped';
  readonly why: string;
  readonly action: string | null;
}

/** What a finding is about, where it is about a request. */
export interface Said {
  readonly sent: string | null;
  /** `null`: nothing. */
  readonly came: string | null;
}

const NOTHING: Said = { sent: null, came: null };

export function passed(why = ''): Verdict {
  return { mark: 'passed', why, action: null, ...NOTHING };
}

export function told(why: string, action: string | null = null): Verdict {
  return { mark: 'told', why, action, ...NOTHING };
}

export function skipped(why: string): Verdict {
  return { mark: 'skipped', why, action: null, ...NOTHING };
}

/** `why` goes on from "it …". */
export function failed(why: string, action: string, { sent, came }: Said = NOTHING): Verdict {
  return { mark: 'failed', why: `it ${why}`, action, sent, came };
}

/** Ends a check from anywhere inside it. */
export class CheckEnd extends Error {
  override readonly name = 'CheckEnd';

  constructor(readonly verdict: Verdict) {
    super(verdict.why);
  }
}

export function fail(why: string, action: string, said?: Said): never {
  throw new CheckEnd(failed(why, action, said));
}
