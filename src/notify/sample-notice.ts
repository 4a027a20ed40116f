import type { NoticeKind } from '../domain/config.js';
import { assertNever } from '../domain/json.js';
import type { Notice, NoticeIssue } from './notice.js';

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
