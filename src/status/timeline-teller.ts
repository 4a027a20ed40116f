import type { Timeline } from './shapes/issue-shape.js';

/** The timeline of a run right now, and how many entries it has had in all, those that were dropped too. */
export interface LiveTimeline {
  readonly timeline: Timeline;
  readonly told: number;
}

/** What a reader is told: with `reset` everything, else the entries that are new. `null`: as before. */
export type TimelineNews = Omit<Timeline, 'plan'> & { readonly reset: boolean; readonly plan: Timeline['plan'] | null };

const NOTHING: LiveTimeline = {
  timeline: { run_id: null, live: false, truncated: false, entries: [], plan: [], diff: null },
  told: 0,
};

/** Follows the timeline of one issue for one reader. Another run, or having fallen behind, begins anew. */
export class TimelineTeller {
  #last: {
    readonly runId: string | null;
    readonly live: boolean;
    readonly plan: string;
    readonly diff: string | null;
  } | null = null;
  #told = 0;

  /** `null`: there is nothing new. */
  news(found: LiveTimeline | null): TimelineNews | null {
    const { timeline, told } = found ?? NOTHING;
    const last = this.#last;
    if (found === null && last !== null) return null;
    const { run_id, live, truncated, entries, diff } = timeline;
    const plan = JSON.stringify(timeline.plan);
    const isNew = last === null || run_id !== last.runId || this.#told < told - entries.length;
    if (!isNew && told === this.#told && live === last.live && plan === last.plan && diff === last.diff) return null;
    const fresh = isNew ? entries : entries.slice(entries.length - (told - this.#told));
    this.#last = { runId: run_id, live, plan, diff };
    this.#told = told;
    return {
      ...{ reset: isNew, run_id, live, truncated },
      entries: fresh,
      plan: isNew || plan !== last.plan ? timeline.plan : null,
      diff: isNew || diff !== last.diff ? diff : null,
    };
  }
}
