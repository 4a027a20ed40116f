import type { Json } from '../domain/json.js';
import { fieldsOf } from '../domain/json.js';
import type { PlanStep, Timeline, TimelineEntry } from './schemas.js';
import { diffOf, planOf, type TranscriptLine, timelineEntry } from './timeline.js';

const MAX_ENTRIES = 400;
/** Ended runs stay this long, until their transcript is on disk. */
const MAX_ENDED = 20;

/** The last events of one run. */
export interface RunActivity {
  readonly lastEvent: string | null;
  readonly lastMessage: string | null;
  /** The type or method of the event that `lastMessage` describes. */
  readonly lastMessageEvent: string | null;
  readonly entries: readonly TimelineEntry[];
  /** Of all entries so far, including those that were dropped. */
  readonly entryCount: number;
  readonly plan: readonly PlanStep[];
  readonly diff: string | null;
  /** From the first line of the run. */
  readonly issueId: unknown;
  readonly identifier: unknown;
}

type Mutable = { -readonly [key in keyof RunActivity]: RunActivity[key] } & { entries: TimelineEntry[] };

/**
 * The last entries, the plan and the diff of each run of this daemon, bounded. It reads the same lines that are written to the transcript,
 * so a live timeline and one that is read from the file later are equal.
 */
export class Activity {
  readonly #runs = new Map<string, Mutable>();
  readonly #ended: string[] = [];
  /** As an agent last reported them. They belong to the account, not to a run. */
  rateLimits: Json = null;

  write(runId: string, line: TranscriptLine): void {
    const run = this.#runs.get(runId) ?? this.#add(runId);
    const event = fieldsOf(line.data);
    if (line.kind === 'run_began' || line.kind === 'closing_began')
      Object.assign(run, { issueId: event.issue_id, identifier: event.identifier });
    run.lastEvent = typeof event.method === 'string' ? event.method : line.kind;
    if (event.method === 'account/rateLimits/updated') this.rateLimits = (event.data ?? null) as Json;
    run.plan = planOf(line) ?? run.plan;
    run.diff = diffOf(line) ?? run.diff;
    const entry = timelineEntry(line);
    if (entry === null) return;
    run.entryCount += 1;
    run.entries.push(entry);
    // Dropped in bulk: shifting an array for each line would cost more than the line.
    if (run.entries.length > MAX_ENTRIES * 2) run.entries.splice(0, MAX_ENTRIES);
    if (entry.kind !== 'run') Object.assign(run, { lastMessage: entry.text, lastMessageEvent: run.lastEvent });
  }

  ended(runId: string): void {
    this.#ended.push(runId);
    if (this.#ended.length > MAX_ENDED) this.#runs.delete(this.#ended.shift() ?? '');
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
      truncated: run.entryCount > run.entries.length,
      entries: [...run.entries],
      plan: [...run.plan],
      diff: run.diff,
    };
    return { timeline, entryCount: run.entryCount };
  }

  #add(runId: string): Mutable {
    const run: Mutable = {
      lastEvent: null,
      lastMessage: null,
      lastMessageEvent: null,
      entries: [],
      entryCount: 0,
      plan: [],
      diff: null,
      issueId: null,
      identifier: null,
    };
    this.#runs.set(runId, run);
    return run;
  }
}

/** The timeline of a run at this moment. */
export interface LiveTimeline {
  readonly timeline: Timeline;
  /** Of all entries so far, including those that were dropped. */
  readonly entryCount: number;
}

/** Changes for one reader. With `reset` it replaces everything; otherwise `entries` are new, and `null` means unchanged. */
type TimelineChange = Omit<Timeline, 'plan'> & { readonly reset: boolean; readonly plan: Timeline['plan'] | null };

const NO_TIMELINE: LiveTimeline = {
  timeline: { run_id: null, live: false, truncated: false, entries: [], plan: [], diff: null },
  entryCount: 0,
};

/** Follows the timeline of one issue for one reader. After another run started, or when entries were dropped meanwhile, it resets. */
export class TimelineFollower {
  #last: {
    readonly runId: string | null;
    readonly live: boolean;
    readonly plan: string;
    readonly diff: string | null;
  } | null = null;
  #entryCount = 0;

  /** Returns null when nothing has changed. */
  next(found: LiveTimeline | null): TimelineChange | null {
    const { timeline, entryCount } = found ?? NO_TIMELINE;
    const last = this.#last;
    if (found === null && last !== null) return null;
    const { run_id, live, truncated, entries, diff } = timeline;
    const plan = JSON.stringify(timeline.plan);
    const isReset = last === null || run_id !== last.runId || this.#entryCount < entryCount - entries.length;
    const isSame = !isReset && live === last.live && plan === last.plan && diff === last.diff;
    if (isSame && entryCount === this.#entryCount) return null;
    const added = isReset ? entries : entries.slice(entries.length - (entryCount - this.#entryCount));
    this.#last = { runId: run_id, live, plan, diff };
    this.#entryCount = entryCount;
    return {
      ...{ reset: isReset, run_id, live, truncated },
      entries: added,
      plan: isReset || plan !== last.plan ? timeline.plan : null,
      diff: isReset || diff !== last.diff ? diff : null,
    };
  }
}
