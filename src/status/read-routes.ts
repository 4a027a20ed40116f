import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import type { Json } from '../domain/json.js';
import type { Feed } from '../api/stream.js';
import { type Answer, type Route, type RouteContext, refusal } from '../api/route.js';
import type { IssueView, Stats, Timeline } from './shapes/issue-shape.js';
import { StreamClient } from './stream-client.js';

/** What can be looked at. Nothing here changes anything. */
export interface ReadSource {
  /** `GET /api/v1/state`, cleaned: those who ask at the same time share it. */
  stateText(): string;
  /** `null`: no such issue is known. */
  issue(name: string): Promise<IssueView | null>;
  /** `null`: no such run of that issue. */
  timeline(name: string, runId: string | null): Promise<Timeline | null>;
  /** Where the transcript of a run lies; `null`: no such run of that issue, or nothing was written down. */
  transcript(name: string, runId: string | null): Promise<string | null>;
  stats(days: number): Promise<Stats>;
  readonly feed: Feed;
  /** In the format of Prometheus. */
  metrics(): Promise<{ readonly text: string; readonly type: string }>;
  /** Why the daemon cannot work yet or now; `null`: it can. */
  notReady(): string | null;
}

/** `isOwner`: over the socket, where the daemon's own user asks. */
export function readRoutes(source: ReadSource, isOwner: boolean): readonly Route[] {
  const reads = (path: string, answer: Route['answer']): Route => ({ method: 'GET', path, answer });
  return [
    { ...reads('/healthz', () => OK), needs: 'public' },
    {
      ...reads('/readyz', () => {
        const reason = source.notReady();
        return reason === null ? OK : refusal(503, 'not_ready', reason);
      }),
      needs: 'public',
    },
    reads('/metrics', async () => {
      const { text, type } = await source.metrics();
      return { status: 200, text, headers: { 'content-type': type } };
    }),
    reads('/api/v1/state', () => ({ status: 200, text: source.stateText(), headers: JSON_TYPE })),
    reads('/api/v1/stats', async (c) => {
      const days = Number(c.req.query('days') ?? 30);
      if (!Number.isSafeInteger(days) || days < 1 || days > MAX_DAYS) return BAD_DAYS;
      return { status: 200, body: (await source.stats(days)) as Json };
    }),
    reads('/api/v1/events', (c) => stream(c, source.feed, isOwner)),
    ...ISSUE_PATHS.flatMap((path) => issueRoutes(path, source)),
  ];
}

/** The first is for issues whose name is a word of the API. */
export const ISSUE_PATHS = ['/api/v1/issues/:identifier', '/api/v1/:identifier'];

function issueRoutes(path: string, source: ReadSource): Route[] {
  const reads = (more: string, answer: (name: string, c: RouteContext) => Promise<Answer>): Route => ({
    method: 'GET',
    path: `${path}${more}`,
    answer: (c) => answer(c.req.param('identifier') ?? '', c),
  });
  return [
    reads('', async (name) => {
      const found = await source.issue(name);
      return found === null ? unknownIssue(name) : { status: 200, body: found as Json };
    }),
    reads('/timeline', async (name, c) => {
      const found = await source.timeline(name, c.req.query('run') ?? null);
      return found === null ? unknownRun(name) : { status: 200, body: found as Json };
    }),
    reads('/transcript', async (name, c) => {
      const path = await source.transcript(name, c.req.query('run') ?? null);
      return path === null ? unknownRun(name) : sendFile(c, path);
    }),
  ];
}

const MAX_DAYS = 400;
const OK: Answer = { status: 200, body: { status: 'ok' } };
const BAD_DAYS = refusal(400, 'INVALID_REQUEST', `days must be a whole number from 1 to ${MAX_DAYS}.`);
const TOO_MANY = refusal(
  503,
  'too_many_streams',
  'Too many readers follow the stream. Close some pages, or ask for /api/v1/state.',
);

function unknownIssue(name: string): Answer {
  const message = `No issue ${name} is claimed, among the candidates of the last poll, or known from earlier runs.`;
  return refusal(404, 'issue_not_found', message);
}

function unknownRun(name: string): Answer {
  return refusal(404, 'run_not_found', `Nothing was written down of such a run of ${name}.`);
}

function stream(c: RouteContext, feed: Feed, isOwner: boolean): Answer {
  if (c.req.method === 'HEAD') return { status: 200, text: '', headers: { 'content-type': 'text/event-stream' } };
  if (feed.isFull(isOwner)) return TOO_MANY;
  const client = new StreamClient(c.env.outgoing as ConstructorParameters<typeof StreamClient>[0]);
  const issue = c.req.query('issue') ?? null;
  feed.join(client, {
    issue: issue === '' ? null : issue,
    lastEventId: c.req.header('last-event-id') ?? null,
    isOwner,
  });
  return 'sent';
}

/** Masked when it was written. */
function sendFile(c: RouteContext, path: string): Answer {
  const { outgoing } = c.env;
  if (c.req.method === 'HEAD') return { status: 200, text: '', headers: JSON_LINES };
  outgoing.writeHead(200, JSON_LINES);
  // Whoever breaks off closes the file too.
  pipeline(createReadStream(path), outgoing, () => {});
  return 'sent';
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };
const JSON_LINES = { 'content-type': 'application/x-ndjson; charset=utf-8' };
