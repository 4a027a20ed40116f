import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { State } from '../../orchestrator/state.js';
import { findKnownIssue, identifierOf } from '../api/issue-view.js';
import type { Metrics } from '../api/metrics.js';
import type { StatusSource } from '../api/routes.js';
import type { RecentEvent, Stats } from '../api/schemas.js';
import type { WorkflowFile } from '../api/snapshot.js';
import type { Totals } from '../api/totals.js';
import { localDay } from '../clock.js';
import type { ServerConfig } from '../domain/config.js';
import type { Dispatch } from '../domain/events.js';
import type { Workflow } from '../domain/workflow.js';
import type { Redactor } from '../logging/redact.js';
import { transcriptName } from '../logging/transcript.js';
import type { StateDir } from '../state-dir.js';
import { isoTime } from '../text/format-time.js';
import { neutraliseJson } from '../text/neutralise.js';
import { capabilityApi } from './capability-api.js';
import type { DaemonResources } from './resources.js';

export interface StatusOptions {
  readonly server: ServerConfig;
  readonly stateDir: StateDir;
  readonly version: string;
  readonly env: NodeJS.ProcessEnv;
  readonly resources: Pick<
    DaemonResources,
    'clock' | 'store' | 'activity' | 'capabilities' | 'workspaces' | 'containment'
  >;
  readonly redactor: Redactor;
  readonly log: Logger;
  readonly dispatch: Dispatch;
  /** The token of this process, when the page has been served before. */
  readonly httpToken?: string | null;
  /** Whether the daemon goes on when the port of the page is taken. */
  readonly mayLackPage?: boolean;
  state(): State;
  /** The workflow in force. */
  workflow(): Workflow;
  workflowFile(): WorkflowFile;
  /** Allows the content of the file with this hash; returns whether it is in effect now. */
  allow(hash: string): Promise<boolean>;
}

export interface OpenedSource {
  readonly source: StatusSource;
  readonly metrics: Metrics;
  /** The state has changed: its text must be made anew. */
  stale(): void;
}

/** What the status knows from watching every decision. */
export interface WatchedDecisions {
  readonly startedAtMs: number;
  totals(): Totals;
  /** Settles once all changes so far are stored. Returns false when they cannot be. */
  waitUntilPersisted(): Promise<boolean>;
}

/** Runs in the answer about an issue. */
const MAX_ISSUE_RUNS = 50;
const MAX_RECENT_EVENTS = 20;
/** Runs of an issue that are searched for a run id. */
const MAX_SEARCHED_RUNS = 1_000;
/** Statistics are about days, so an answer may be a few seconds old. */
const STATS_FRESH_MS = 5_000;

/** Provides the routes with data of the daemon. Its modules are loaded here, because many daemons are never asked. */
export async function createStatusSource(
  options: StatusOptions,
  { startedAtMs, totals, waitUntilPersisted }: WatchedDecisions,
): Promise<OpenedSource> {
  const [
    { SharedText, StateStream },
    { createMetrics },
    { snapshotOf },
    { issueView },
    { readTimeline },
    { readPageFiles },
    views,
  ] = await Promise.all([
    import('../api/stream.js'),
    import('../api/metrics.js'),
    import('../api/snapshot.js'),
    import('../api/issue-view.js'),
    import('../api/read-timeline.js'),
    import('../api/page-files.js'),
    Promise.all([import('../api/totals.js'), import('../api/why-idle.js'), import('../api/snapshot.js')]),
  ]);
  const [{ statsOf }, { whyNotReady }, { workflowFacts }] = views;
  const { stateDir, version, redactor, log, dispatch, state } = options;
  const { clock, store, activity, capabilities, workspaces, containment } = options.resources;
  const now = () => clock.now();
  const { kind: isolation } = containment;
  const daemon = { version, pid: process.pid, startedAtMs, stateDir: stateDir.path, isolation };
  const seen = (runId: string) => activity.of(runId);
  const clean = (json: string) => neutraliseJson(redactor.maskJson(json));
  const snapshot = () =>
    snapshotOf(state(), now(), {
      ...{ daemon, seen, totals: totals(), rateLimits: activity.rateLimits },
      workflow: workflowFacts(options.workflow(), options.workflowFile()),
    });
  const stateText = new SharedText(() => `${clean(JSON.stringify(snapshot()))}\n`);
  const metrics = createMetrics({ state, now, totals, version });
  const pathOf = (runId: string) => join(stateDir.transcripts, transcriptName(runId));

  /** The run of an issue with this id, or its newest run. Returns null when there is none. */
  const runOf = async (asked: string, runId: string | null): Promise<string | null> => {
    const name = identifierOf(state(), asked);
    const live = activity.runOf(name);
    if (live !== null && (runId === null || runId === live)) return live;
    const records = await store.past.runs({ issue: name, limit: MAX_SEARCHED_RUNS });
    const found = runId === null ? records[0] : records.find((record) => record.runId === runId);
    return found?.runId ?? null;
  };

  /** Those of the agent while it works, else those of the daemon. */
  const recentEvents = async (name: string): Promise<RecentEvent[]> => {
    const live = activity.runOf(name);
    const entries = live === null ? [] : (activity.timeline(live)?.timeline.entries ?? []);
    if (entries.length > 0)
      return entries
        .slice(-MAX_RECENT_EVENTS)
        .reverse()
        .map(({ at, kind, text }) => ({ at, event: kind, message: text }));
    const events = await store.past.events({ issue: name, limit: MAX_RECENT_EVENTS });
    return events.map(({ atMs, level, message }) => ({ at: isoTime(atMs), event: level, message }));
  };

  const stats = new Map<number, { readonly value: Stats; readonly today: string | undefined; readonly atMs: number }>();
  const source: StatusSource = {
    stateText: () => stateText.get(),
    async issue(asked) {
      const name = identifierOf(state(), asked);
      const [records, files] = await Promise.all([
        store.past.runs({ issue: name, limit: MAX_ISSUE_RUNS }),
        readdir(stateDir.transcripts).then((names) => new Set(names)),
      ]);
      const transcript = (runId: string) => (files.has(transcriptName(runId)) ? pathOf(runId) : null);
      const [newest] = records;
      const known = findKnownIssue(state(), name)?.issue ?? (newest && { ...newest, id: newest.issueId });
      // An unsafe identifier names no folder.
      const workspace = known ? await workspaces.pathOf(known).catch(() => null) : null;
      return issueView(state(), now(), name, {
        records,
        seen,
        transcript,
        workspace,
        events: await recentEvents(name),
      });
    },
    async timeline(name, asked) {
      const runId = await runOf(name, asked);
      if (runId === null) return null;
      return activity.timeline(runId)?.timeline ?? readTimeline(pathOf(runId), runId);
    },
    async transcript(name, asked) {
      const runId = await runOf(name, asked);
      const files = await readdir(stateDir.transcripts);
      return runId !== null && files.includes(transcriptName(runId)) ? pathOf(runId) : null;
    },
    async stats(count) {
      const days = lastDays(now().wallMs, count);
      const known = stats.get(count);
      if (known && known.today === days.at(-1) && performance.now() - known.atMs < STATS_FRESH_MS) return known.value;
      const value = statsOf(days, await store.past.days(days[0] ?? ''));
      stats.set(count, { value, today: days.at(-1), atMs: performance.now() });
      return value;
    },
    stream: new StateStream({
      snapshot,
      clean,
      timeline: (name) => {
        const runId = activity.runOf(identifierOf(state(), name));
        return runId === null ? null : activity.timeline(runId);
      },
    }),
    metrics: () => metrics.text(),
    notReady: () => whyNotReady(state()),
    control: { state, now, dispatch, waitUntilPersisted },
    capabilities: capabilityApi(capabilities, () => options.workflow().dir),
    page: await readPageFiles(),
    clean,
    onError: (error) => log.error({ err: error }, 'status could not be served'),
  };
  return { source, metrics, stale: () => stateText.stale() };
}

/** Calendar days, which may have 23 or 25 hours. */
function lastDays(wallMs: number, count: number): string[] {
  const today = new Date(wallMs);
  return Array.from({ length: count }, (_, back) => {
    const noon = new Date(today.getFullYear(), today.getMonth(), today.getDate() - (count - 1 - back), 12);
    return localDay(noon.getTime()).day;
  });
}
