import { createReadStream } from 'node:fs';
import type { Json } from '../domain/json.js';
import type { Feed } from './feed.js';
import { type Answer, type Route, type RouteContext, refusal } from './route.js';
import type { IssueView, Stats, Timeline } from './shapes/issue-shape.js';
import type { StateView } from './shapes/state-shape.js';
import { StreamClient } from './stream-client.js';

/** What can be looked at. Nothing here changes anything. */
export interface ReadSource {
  snapshot(): StateView;
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

export function readRoutes(source: ReadSource): readonly Route[] {
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
    reads('/api/v1/state', () => ({ status: 200, body: source.snapshot() as Json })),
    reads('/api/v1/stats', async (c) => {
      const days = Number(c.req.query('days') ?? 30);
      if (!Number.isSafeInteger(days) || days < 1 || days > MAX_DAYS) return BAD_DAYS;
      return { status: 200, body: (await source.stats(days)) as Json };
    }),
    reads('/api/v1/events', (c) => stream(c, source.feed)),
    reads('/api/v1/:identifier', async (c) => {
      const name = c.req.param('identifier') ?? '';
      const found = await source.issue(name);
      return found === null ? unknownIssue(name) : { status: 200, body: found as Json };
    }),
    reads('/api/v1/:identifier/timeline', async (c) => {
      const name = c.req.param('identifier') ?? '';
      const found = await source.timeline(name, c.req.query('run') ?? null);
      return found === null ? unknownRun(name) : { status: 200, body: found as Json };
    }),
    reads('/api/v1/:identifier/transcript', async (c) => {
      const name = c.req.param('identifier') ?? '';
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

function stream(c: RouteContext, feed: Feed): Answer {
  if (c.req.method === 'HEAD') return { status: 200, text: '', headers: { 'content-type': 'text/event-stream' } };
  if (feed.isFull) return TOO_MANY;
  const client = new StreamClient(c.env.outgoing as ConstructorParameters<typeof StreamClient>[0]);
  const issue = c.req.query('issue') ?? null;
  feed.join(client, issue === '' ? null : issue, c.req.header('last-event-id') ?? null);
  return 'sent';
}

/** Masked when it was written. */
function sendFile(c: RouteContext, path: string): Answer {
  const { outgoing } = c.env;
  if (c.req.method === 'HEAD') return { status: 200, text: '', headers: JSON_LINES };
  outgoing.writeHead(200, JSON_LINES);
  createReadStream(path)
    .on('error', () => outgoing.destroy())
    .pipe(outgoing);
  return 'sent';
}

const JSON_LINES = { 'content-type': 'application/x-ndjson; charset=utf-8' };
