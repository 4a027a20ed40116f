import { expect, test } from 'vitest';
import { Turn } from '../../../../runner/executors/codex/turn.js';
import { FakeClock } from '../../../support/fake-clock.js';

const ended = (id: string) => ({ id, status: 'completed', error: null });

test('the late end of an earlier turn does not end the running one', async () => {
  const turn = new Turn(new FakeClock(), 1_000);
  turn.begin('turn-2');

  turn.end(ended('turn-1'));

  expect(turn.activeId).toBe('turn-2');
  turn.end(ended('turn-2'));
  expect(turn.activeId).toBeNull();
  await expect(turn.finished).resolves.toEqual(ended('turn-2'));
});

test('the first end counts, and the clock is let go', async () => {
  const clock = new FakeClock();
  const turn = new Turn(clock, 1_000);
  turn.begin('turn-1');

  turn.end(ended('turn-1'));
  turn.abandon(new Error('too late'));

  expect(clock.pendingTimers).toBe(0);
  await expect(turn.finished).resolves.toEqual(ended('turn-1'));
});

test('S2-66 only the time that was not spent asking counts', async () => {
  const clock = new FakeClock();
  const turn = new Turn(clock, 1_000);
  clock.advance(600);
  turn.pauseClock();
  clock.advance(10_000);
  turn.resumeClock();

  clock.advance(399);
  expect(clock.pendingTimers).toBe(1);
  clock.advance(1);

  await expect(turn.finished).rejects.toMatchObject({ code: 'turn_timeout' });
});
