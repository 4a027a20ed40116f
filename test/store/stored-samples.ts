import type { DurableChange, DurableClaim, FinishedIssue, RunRecord } from '../../src/domain/durable.js';
import { issue } from '../support/builders.js';

export const parked = (id: string): DurableClaim => ({
  issue: issue(id),
  failures: 0,
  idleRuns: 0,
  failedAsProbe: false,
  daemonDeaths: 0,
  status: {
    kind: 'parked',
    reason: 'budget',
    sinceMs: 1,
    message: 'spent',
    hash: 'h',
    question: null,
    threadId: null,
    run: null,
  },
});

export const record = (runs: number) => ({ runs, tokens: 0, budgetFrom: 0, threads: [] });

export const change = (part: Partial<DurableChange>): DurableChange => ({
  full: false,
  claims: {},
  records: {},
  holds: {},
  pausedSinceMs: null,
  ledger: {},
  runs: [],
  finished: [],
  ...part,
});

const question = {
  id: 'q1',
  kind: 'input',
  text: 'Which one?',
  fields: [{ id: 'f', label: 'One', options: ['a', 'b'] }],
} as const;
const resume = {
  commentsReadAtMs: 4,
  threadId: 't0',
  answer: { question, answer: { kind: 'input', values: { f: 'a' } } },
} as const;
const run = {
  runId: 'run-1',
  number: 3,
  reason: 'answer',
  attempt: 1,
  startedAtMs: 5,
  hash: 'h',
  threadId: 't1',
  resume,
  probe: true,
  questions: [question],
  answered: { question, answer: { kind: 'accept' } },
  requestedAfterExit: 'stop',
  isInShutdown: true,
  account: {
    cause: 'operator',
    daemonVersion: '1.2.3',
    workflowHash: 'w',
    issueHash: 'i',
    promptHash: null,
    agentVersion: 'codex 1',
    model: 'm',
    turns: 2,
    tokens: { input: 3, cached: 2, output: 1 },
  },
} as const;

/** One claim of each kind, with something in every field. */
export const CLAIMS: { readonly [issueId: string]: DurableClaim } = {
  A: {
    ...parked('A'),
    issue: issue({
      id: 'A',
      description: 'é 漢 \u{1f600} \0 \ud800',
      priority: 2,
      author: { login: 'ann', trusted: null },
      labels: ['x'],
      blocked_by: [{ id: null, identifier: 'B', state: 'Todo' }],
      comments: [{ author: null, body: 'hi', created_at: null }],
    }),
    status: { kind: 'running', run },
  },
  B: {
    ...parked('B'),
    failures: 2,
    failedAsProbe: true,
    daemonDeaths: 2,
    status: {
      kind: 'waiting',
      sinceMs: 1,
      dueAtMs: 1_700_000_000_123.5,
      reason: 'retry',
      cause: 'retry',
      attempt: 2,
      error: { code: 'no_slot', message: 'no available orchestrator slots' },
      baseline: 'h',
      foundIdle: true,
      resume: { threadId: 't2', answer: { question, answer: { kind: 'decline' } } },
    },
  },
  C: {
    ...parked('C'),
    status: {
      kind: 'parked',
      reason: 'input_required',
      sinceMs: 1,
      message: 'asks',
      hash: 'h',
      question,
      threadId: 't3',
      run,
    },
  },
};

export const runRecord = (runId: string, issueId: string, startedAtMs: number): RunRecord => ({
  ...run.account,
  runId,
  issueId,
  identifier: `id-${issueId}`,
  title: 't',
  author: null,
  labels: ['x'],
  number: 1,
  reason: 'first',
  attempt: null,
  threadId: null,
  startedAtMs,
  end: { atMs: startedAtMs + 1, outcome: 'success', code: null, message: null },
});

export const finished = (issueId: string, runs: number, atMs: number): FinishedIssue => ({
  ...{ issueId, identifier: `id-${issueId}`, title: 't', url: null, state: 'Done' },
  ...{ isTerminal: true, atMs, runs, tokens: 5 },
});
