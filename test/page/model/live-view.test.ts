import { describe, expect, test } from 'vitest';
import { diffStates } from '../../../src/api/patch.js';
import { reconnectDelay } from '../../../src/page/live/live-client.js';
import { afterEvent, EMPTY_VIEW, type LiveView } from '../../../src/page/live/live-view.js';
import { emptyState, workingDay } from '../sample-state.js';

const NOW = Date.parse('2026-11-18T12:00:00.000Z');
const event = (name: string, data: unknown) => ({ event: name, id: 'x-1', data: JSON.stringify(data) });
const line = (text: string) => ({ at: null, kind: 'agent' as const, text, detail: null });
const told = (part: object) =>
  event('timeline', {
    reset: false,
    run_id: 'r',
    live: true,
    truncated: false,
    entries: [],
    plan: null,
    diff: null,
    ...part,
  });
const after = (view: LiveView, ...events: ReturnType<typeof event>[]) =>
  events.reduce((known, one) => afterEvent(known, one, NOW), view);

describe('the live view', () => {
  test('a state replaces everything, a patch changes it', () => {
    const [before, now] = [emptyState(), workingDay()];

    const view = after(EMPTY_VIEW, event('state', before), event('patch', diffStates(before, now)));

    expect(view.state).toEqual(JSON.parse(JSON.stringify(now)));
  });

  test('entries that a patch does not touch stay the very same, so that they are not drawn again', () => {
    const before = workingDay();
    const now = {
      ...before,
      running: before.running.map((entry, at) => (at === 0 ? { ...entry, turn_count: 8 } : entry)),
    };
    const known = after(EMPTY_VIEW, event('state', before));

    const view = after(known, event('patch', diffStates(before, now)));

    expect(view.state?.running[1]).toBe(known.state?.running[1]);
    expect(view.state?.ready).toBe(known.state?.ready);
  });

  test('a patch without a state cannot be read', () => {
    expect(() => after(EMPTY_VIEW, event('patch', { set: {}, lists: {} }))).toThrow(/before the state/);
  });

  test('a reset replaces the timeline, other events extend it; plan and diff stay until they change', () => {
    const plan = [{ step: 'a', status: 'pending' }];

    const view = after(
      EMPTY_VIEW,
      told({ reset: true, entries: [line('of another run')], plan: [], diff: 'old' }),
      told({ reset: true, run_id: 'r2', entries: [line('one')], plan, diff: 'd' }),
      told({ run_id: 'r2', entries: [line('two')], live: false }),
    );

    expect(view.timeline).toMatchObject({ runId: 'r2', isLive: false, plan, diff: 'd' });
    expect(view.timeline?.entries.map(({ text }) => text)).toEqual(['one', 'two']);
  });

  test('a long timeline is bounded and counts dropped entries', () => {
    const many = Array.from({ length: 1_500 }, (_, at) => line(String(at)));

    const view = after(EMPTY_VIEW, told({ reset: true, entries: many }), told({ entries: many }));

    expect(view.timeline?.entries).toHaveLength(2_000);
    expect(view.timeline).toMatchObject({ dropped: 1_000, isCut: true });
    expect(view.timeline?.entries.at(-1)?.text).toBe('1499');
  });

  test('unknown events of a newer daemon are ignored', () => {
    expect(after(EMPTY_VIEW, event('weather', { sun: true }))).toBe(EMPTY_VIEW);
  });

  test('times follow the clock of the daemon', () => {
    const ahead = (seconds: number) => {
      const generated = new Date(NOW + seconds * 1_000).toISOString();
      return after(EMPTY_VIEW, event('state', { ...emptyState(), generated_at: generated })).aheadMs;
    };

    expect([ahead(1), ahead(-90), ahead(3_600)]).toEqual([0, -90_000, 3_600_000]);
  });
});

describe('trying again', () => {
  test('is soon at first, later each time, never later than half a minute and a bit', () => {
    const delays = Array.from({ length: 12 }, (_, at) => reconnectDelay(at + 1, 2_000, 0.5));

    expect(delays.slice(0, 4)).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(delays.at(-1)).toBe(30_000);
  });

  test('is spread, so that not all pages come at once', () => {
    expect(reconnectDelay(5, null, 0)).toBeLessThan(reconnectDelay(5, null, 1));
    expect(reconnectDelay(99, 60_000, 1)).toBeLessThan(40_000);
  });
});
