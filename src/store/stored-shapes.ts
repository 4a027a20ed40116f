import { z } from 'zod';
import {
  type ClaimStatus,
  HOLD_SOURCES,
  type Hold,
  type HoldSource,
  type IssueRecord,
  PARK_REASONS,
  type ResumeThread,
  type RunFacts,
} from '../domain/claim.js';
import type { Durable, DurableClaim, FinishedIssue, RunRecord } from '../domain/durable.js';
import { ERRORS } from '../domain/error-table.js';
import type { ErrorCode } from '../domain/errors.js';
import type { OpenRun, WorkspaceOwner } from '../domain/ports.js';
import { RUN_CAUSES, type RunReason } from '../domain/run.js';
import type { AllowedContent } from '../domain/workflow.js';

/**
 * The shapes that stored rows must have. They are loose: a field that is not named here is kept, so that adding one to the domain does not
 * lose it. Each shape is declared as its domain type, so that a missing field does not compile.
 */
const text = z.string();
const textOrNull = text.nullable();
const number = z.number();
const numberOrNull = number.nullable();
const errorCode = z.custom<ErrorCode>(
  (value) => typeof value === 'string' && Object.hasOwn(ERRORS, value),
  'no error code',
);

/** Older versions did not store it. */
const afterRunFailed = z.exactOptional(z.literal(true));

const RUN_REASONS = {
  first: 'first',
  continuation: 'continuation',
  retry: 'retry',
  resumed: 'resumed',
  answer: 'answer',
} as const satisfies { readonly [reason in RunReason]: reason };
const runReason = z.enum(RUN_REASONS);

const issue = z.looseObject({
  id: text,
  identifier: text,
  title: text,
  description: textOrNull,
  priority: numberOrNull,
  state: text,
  branch_name: textOrNull,
  url: textOrNull,
  assignee_id: textOrNull,
  author: z.looseObject({ login: text, trusted: z.boolean().nullable() }).nullable(),
  labels: z.array(text),
  blocked_by: z.array(z.looseObject({ id: textOrNull, identifier: textOrNull, state: textOrNull })),
  comments: z.array(z.looseObject({ author: textOrNull, body: text, created_at: textOrNull })),
  dispatchable: z.boolean(),
  // Older versions did not store it.
  held_back: z.string().nullable().default(null),
  // Older versions stored a text.
  native_ref: z.union([text.transform((ref) => ({ ref })), z.record(z.string(), z.json())]).nullable(),
  created_at: textOrNull,
  updated_at: textOrNull,
});

const question = z.looseObject({
  id: text,
  kind: z.enum(['approval', 'input']),
  text,
  fields: z.array(z.looseObject({ id: text, label: text, options: z.array(text) })),
  isCut: z.exactOptional(z.literal(true)),
  heldPush: z.exactOptional(text),
});

const answer = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('accept') }),
  z.looseObject({ kind: z.literal('decline') }),
  z.looseObject({ kind: z.literal('input'), values: z.record(text, text) }),
]);

const resume = z
  .looseObject({
    threadId: text,
    answer: z.looseObject({ question, answer }).nullable(),
    heardAtMs: z.exactOptional(number),
  })
  .transform(({ heardAtMs, ...rest }) => (heardAtMs === undefined ? rest : { ...rest, commentsReadAtMs: heardAtMs }))
  .nullable();

const totals = z.looseObject({ input: number, cached: number, output: number });

const accountFields = {
  cause: z.enum(RUN_CAUSES),
  daemonVersion: text,
  workflowHash: text,
  issueHash: textOrNull,
  promptHash: textOrNull,
  agentVersion: textOrNull,
  model: textOrNull,
  turns: number,
  tokens: totals,
};

const run = z
  .looseObject({
    runId: text,
    number,
    reason: runReason,
    attempt: numberOrNull,
    startedAtMs: number,
    hash: text,
    threadId: textOrNull,
    resume,
    probe: z.boolean(),
    questions: z.array(question),
    answered: z.looseObject({ question, answer }).nullable(),
    wish: z.enum(['stop', 'retry']).nullable(),
    isInShutdown: z.exactOptional(z.literal(true)),
    account: z.looseObject(accountFields),
  })
  .transform(({ wish, ...rest }) => ({ ...rest, requestedAfterExit: wish }));

const status = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('running'), run }),
  z.looseObject({
    kind: z.literal('waiting'),
    sinceMs: number,
    dueAtMs: number,
    reason: runReason,
    cause: z.enum(RUN_CAUSES),
    attempt: numberOrNull,
    error: z.looseObject({ code: z.union([errorCode, z.literal('no_slot')]), message: text }).nullable(),
    baseline: textOrNull,
    foundIdle: z.boolean(),
    resume,
  }),
  z.looseObject({
    kind: z.literal('parked'),
    reason: z.enum(PARK_REASONS),
    sinceMs: number,
    message: text,
    hash: text,
    question: question.nullable(),
    threadId: textOrNull,
    run: run.nullable(),
  }),
]);

const claimShape: z.ZodType<DurableClaim> = z
  .looseObject({
    issue,
    failures: number,
    idleRuns: number,
    suspect: z.boolean(),
    // Older versions did not store it.
    daemonDeaths: number.default(0),
    status,
  })
  .transform(({ suspect, ...rest }) => ({ ...rest, failedAsProbe: suspect }));

/** A claim as it is stored. Three fields keep the names of older versions on disk: `suspect`, `wish` and `heardAtMs`. */
export function storedClaim({ failedAsProbe, status, ...claim }: DurableClaim): unknown {
  return { ...claim, suspect: failedAsProbe, status: storedStatus(status) };
}

function storedStatus(status: ClaimStatus): unknown {
  if (status.kind === 'waiting') return { ...status, resume: storedResume(status.resume) };
  return { ...status, run: status.run && storedRun(status.run) };
}

function storedRun({ requestedAfterExit, ...run }: RunFacts): unknown {
  return { ...run, wish: requestedAfterExit, resume: storedResume(run.resume) };
}

function storedResume(resume: ResumeThread | null): unknown {
  if (resume === null) return null;
  const { commentsReadAtMs, ...rest } = resume;
  return commentsReadAtMs === undefined ? rest : { ...rest, heardAtMs: commentsReadAtMs };
}

export const claimShapeOf = (issueId: string): z.ZodType<DurableClaim> =>
  claimShape.refine((claim) => claim.issue.id === issueId, 'the claim of another issue');

export const recordShape: z.ZodType<IssueRecord> = z.looseObject({
  runs: number,
  tokens: number,
  budgetFrom: number,
  threads: z.array(z.looseObject({ id: text, totals })),
  afterRunFailed,
});

export const holdSourceShape: z.ZodType<HoldSource> = z.enum(HOLD_SOURCES);

export const holdShape: z.ZodType<Hold> = z.looseObject({
  code: errorCode,
  message: text,
  sinceMs: number,
  tries: number,
  untilMs: numberOrNull,
  probed: z.array(text),
});

export const daemonShape: z.ZodType<Pick<Durable, 'pausedSinceMs'>> = z.looseObject({ pausedSinceMs: numberOrNull });

export const trackerShape: z.ZodType<{ readonly scope: string }> = z.looseObject({ scope: text });

export const ownerShape: z.ZodType<WorkspaceOwner> = z.looseObject({
  key: text,
  scope: text,
  issueId: text,
  identifier: text,
});

export const allowedShape: z.ZodType<AllowedContent> = z.looseObject({
  path: text,
  hash: text,
  parts: z.record(z.string(), z.looseObject({ hash: text, shown: textOrNull })),
  text,
  atMs: number,
});

export const openRunShape: z.ZodType<OpenRun> = z.looseObject({
  marker: text,
  issueId: text,
  owesAfterRunIn: textOrNull,
  processes: z.array(z.looseObject({ pid: number, startTime: text, bootId: text })),
});

export const finishedShape: z.ZodType<FinishedIssue> = z.looseObject({
  issueId: text,
  identifier: text,
  title: text,
  url: textOrNull,
  state: text,
  isTerminal: z.boolean(),
  atMs: number,
  runs: number,
  tokens: number,
  afterRunFailed,
});

export const runRecordShape: z.ZodType<RunRecord> = z.looseObject({
  ...accountFields,
  runId: text,
  issueId: text,
  identifier: text,
  title: text,
  author: textOrNull,
  labels: z.array(text),
  number,
  reason: runReason,
  attempt: numberOrNull,
  threadId: textOrNull,
  startedAtMs: number,
  end: z
    .looseObject({
      atMs: number,
      outcome: z.enum(['success', 'failed', 'timeout', 'cancelled']),
      code: errorCode.nullable(),
      message: textOrNull,
      afterRunFailed,
    })
    .nullable(),
});
