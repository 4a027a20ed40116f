import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { identifierOf } from '../api/issue-view.js';
import type { Metrics } from '../api/metrics.js';
import type { StatusSource } from '../api/routes.js';
import type { Stats } from '../api/schemas.js';
import { SharedText } from '../api/stream.js';
import type { Totals } from '../api/totals.js';
import { localDay } from '../clock.js';
import { transcriptName } from '../logging/transcript.js';
import { neutraliseJson } from '../text/neutralise.js';
import type { StatusParts } from './status.js';
import { capabilityApi } from './status.js';

export interface OpenedSource {
  readonly source: StatusSource;
  readonly metrics: Metrics;
  /** Something happened that whoever asks for the state must see. */
  stale(): void;
}

/** What is known from having seen every decision. */
export interface Watched {
  totals(): Totals;
  /** Settles once everything so far is stored; `false`: it could not be. */
  stored(): Promise<boolean>;
}

const RUNS_TOLD = 50;
const RUNS_FOUND = 1_000;
/** They are about days. */
const STATS_FRESH_MS = 5_000;

/** Everything that the routes can ask, from the parts of the daemon. What it needs is loaded here: not every daemon is looked at. */
export async function createStatusSource(options: StatusParts, { totals, stored }: Watched): Promise<OpenedSource> {
  const [{ Feed }, { createMetrics }, { snapshotOf }, { issueView }, { readTimeline }, { readPageFiles }, views] =
    await Promise.all([
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
  const { clock, store, activity, capabilities } = options.parts;
  const now = () => clock.now();
  const daemon = { version, pid: process.pid, startedAtMs: now().wallMs, stateDir: stateDir.path };
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

  /** A run belongs to the issue under whose name it is asked for; `null`: it does not, or there is none. */
  const runOf = async (asked: string, runId: string | null): Promise<string | null> => {
    const name = identifierOf(state(), asked);
    const live = activity.runOf(name);
    if (live !== null && (runId === null || runId === live)) return live;
    const records = await store.past.runs({ issue: name, limit: RUNS_FOUND });
    const found = runId === null ? records[0] : records.find((record) => record.runId === runId);
    return found?.runId ?? null;
  };

  const stats = new Map<number, { readonly value: Stats; readonly today: string | undefined; readonly atMs: number }>();
  const source: StatusSource = {
    stateText: () => stateText.get(),
    async issue(asked) {
      const name = identifierOf(state(), asked);
      const [records, files] = await Promise.all([
        store.past.runs({ issue: name, limit: RUNS_TOLD }),
        readdir(stateDir.transcripts).then((names) => new Set(names)),
      ]);
      const hasTranscript = (runId: string) => files.has(transcriptName(runId));
      return issueView(state(), now(), name, { records, seen, hasTranscript });
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
    feed: new Feed({
      snapshot,
      clean,
      timeline: (name) => {
        const runId = activity.runOf(identifierOf(state(), name));
        return runId === null ? null : activity.timeline(runId);
      },
    }),
    metrics: () => metrics.text(),
    notReady: () => whyNotReady(state()),
    control: { state, now, dispatch, stored },
    capabilities: capabilityApi(capabilities, () => options.workflow().dir),
    page: await readPageFiles(),
    clean,
    onError: (error) => log.error({ err: error }, 'status could not be served'),
  };
  return { source, metrics, stale: () => stateText.stale() };
}

/** By the calendar: a day may have 23 or 25 hours. */
function lastDays(wallMs: number, count: number): string[] {
  const today = new Date(wallMs);
  return Array.from({ length: count }, (_, back) => {
    const noon = new Date(today.getFullYear(), today.getMonth(), today.getDate() - (count - 1 - back), 12);
    return localDay(noon.getTime()).day;
  });
}
