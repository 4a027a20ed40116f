import { applyPatch } from '../../api/patch.js';
import type { Patch, PlanStep, StateView, TimelineEntry } from '../../api/schemas.js';
import type { SseEvent } from '../../api/sse-parser.js';

/** The state built from the events of the stream. Immutable: an event creates a new view. */
export interface LiveView {
  readonly state: StateView | null;
  /** The issue whose timeline is followed, or `null`. */
  readonly issue: string | null;
  /** `null`: not received yet. */
  readonly timeline: LiveTimeline | null;
  /** How far the clock of the daemon is ahead of the clock of the browser. */
  readonly aheadMs: number;
}

export interface LiveTimeline {
  readonly runId: string | null;
  readonly isLive: boolean;
  readonly isCut: boolean;
  readonly entries: readonly TimelineEntry[];
  /** The number of entries before the first of `entries` that were dropped here. */
  readonly dropped: number;
  readonly plan: readonly PlanStep[];
  readonly diff: string | null;
}

interface TimelineEvent {
  readonly reset: boolean;
  readonly run_id: string | null;
  readonly live: boolean;
  readonly truncated: boolean;
  readonly entries: readonly TimelineEntry[];
  readonly plan: readonly PlanStep[] | null;
  readonly diff: string | null;
}

export const EMPTY_VIEW: LiveView = { state: null, issue: null, timeline: null, aheadMs: 0 };

const MAX_ENTRIES = 2_000;
/** A smaller difference is the delay of the connection. */
const TOLERANCE_MS = 2_000;

/** Throws when the event is invalid; the client then starts a new stream. */
export function afterEvent(view: LiveView, { event, data }: SseEvent, nowMs: number): LiveView {
  switch (event) {
    case 'state': {
      const state = JSON.parse(data) as StateView;
      return { ...view, state, aheadMs: aheadOf(state, nowMs) };
    }
    case 'patch': {
      if (view.state === null) throw new Error('received a patch before the state');
      return { ...view, state: applyPatch(view.state, JSON.parse(data) as Patch) };
    }
    case 'timeline':
      return { ...view, timeline: afterTimeline(view.timeline, JSON.parse(data) as TimelineEvent) };
    default:
      // A newer daemon may send other events.
      return view;
  }
}

function afterTimeline(before: LiveTimeline | null, event: TimelineEvent): LiveTimeline {
  const known = event.reset || before === null ? { entries: [], dropped: 0, plan: [], diff: null } : before;
  const all = [...known.entries, ...event.entries];
  const dropped = Math.max(0, all.length - MAX_ENTRIES);
  return {
    runId: event.run_id,
    isLive: event.live,
    isCut: event.truncated || dropped > 0 || known.dropped > 0,
    entries: dropped === 0 ? all : all.slice(dropped),
    dropped: known.dropped + dropped,
    plan: event.plan ?? known.plan,
    diff: event.diff ?? known.diff,
  };
}

function aheadOf({ generated_at: generatedAt }: StateView, nowMs: number): number {
  const ahead = generatedAt === null ? 0 : Date.parse(generatedAt) - nowMs;
  return Math.abs(ahead) < TOLERANCE_MS || Number.isNaN(ahead) ? 0 : ahead;
}
