import type { Json } from '../domain/json.js';
import { fieldsOf } from '../domain/json.js';
import type { PlanStep, TimelineEntry } from './schemas.js';
import type { LiveTimeline } from './timeline.js';
import { diffOf, planOf, type TranscriptLine, timelineEntry } from './timeline.js';

const MAX_ENTRIES = 400;
/** Runs that have ended, until their transcript is surely on disk. */
const ENDED_KEPT = 20;

/** What is going on in one run. `told` counts its entries, those that were dropped too. */
export interface RunActivity {
  readonly lastEvent: string | null;
  readonly lastMessage: string | null;
  readonly entries: readonly TimelineEntry[];
  readonly told: number;
  readonly plan: readonly PlanStep[];
  readonly diff: string | null;
  /** What it is about, as its first line says. */
  readonly issueId: unknown;
  readonly identifier: unknown;
}

type Mutable = { -readonly [key in keyof RunActivity]: RunActivity[key] } & { entries: TimelineEntry[] };

/**
 * What the runs of this daemon say, as far as a person wants to see it right now: the last entries of each, its plan, its diff. It is fed
 * with the lines of their transcripts, so that what is live and what is read from a file later are the same. Everything is bounded.
 */
export class Activity {
  readonly #runs = new Map<string, Mutable>();
  readonly #ended: string[] = [];
  /** As an agent told them last; they are about the account and not about a run. */
  rateLimits: Json = null;

  write(runId: string, line: TranscriptLine): void {
    const run = this.#runs.get(runId) ?? this.#begin(runId);
    const event = fieldsOf(line.data);
    if (line.kind === 'run_began' || line.kind === 'closing_began')
      Object.assign(run, { issueId: event.issue_id, identifier: event.identifier });
    run.lastEvent = typeof event.method === 'string' ? event.method : line.kind;
    if (event.method === 'account/rateLimits/updated') this.rateLimits = (event.data ?? null) as Json;
    run.plan = planOf(line) ?? run.plan;
    run.diff = diffOf(line) ?? run.diff;
    const entry = timelineEntry(line);
    if (entry === null) return;
    run.told += 1;
    run.entries.push(entry);
    // By halves: to shift an array for each line of a flood would cost more than the line.
    if (run.entries.length > MAX_ENTRIES * 2) run.entries.splice(0, MAX_ENTRIES);
    if (entry.kind !== 'run') run.lastMessage = entry.text;
  }

  ended(runId: string): void {
    this.#ended.push(runId);
    if (this.#ended.length > ENDED_KEPT) this.#runs.delete(this.#ended.shift() ?? '');
  }

  /** The newest run of an issue, by its identifier or id. */
  runOf(name: string): string | null {
    const runs = [...this.#runs].filter(([, { issueId, identifier }]) => identifier === name || issueId === name);
    return runs.at(-1)?.[0] ?? null;
  }

  of(runId: string): RunActivity | null {
    return this.#runs.get(runId) ?? null;
  }

  timeline(runId: string): LiveTimeline | null {
    const run = this.#runs.get(runId);
    if (!run) return null;
    const timeline = {
      run_id: runId,
      live: !this.#ended.includes(runId),
      truncated: run.told > run.entries.length,
      entries: [...run.entries],
      plan: [...run.plan],
      diff: run.diff,
    };
    return { timeline, told: run.told };
  }

  #begin(runId: string): Mutable {
    const run: Mutable = {
      lastEvent: null,
      lastMessage: null,
      entries: [],
      told: 0,
      plan: [],
      diff: null,
      issueId: null,
      identifier: null,
    };
    this.#runs.set(runId, run);
    return run;
  }
}
