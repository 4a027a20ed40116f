import { expect, test } from 'vitest';
import { EarlyEvents } from '../../src/daemon/start-up.js';
import type { OrchestratorEvent } from '../../src/domain/events.js';

test('events before the start are handled after it, in order and before any later event', () => {
  const earlyEvents = new EarlyEvents();
  const handled: string[] = [];
  const handle = ({ type }: OrchestratorEvent) => {
    handled.push(type);
    if (type === 'change_announced') earlyEvents.dispatch({ type: 'ticked' });
  };

  earlyEvents.dispatch({ type: 'change_announced' });
  earlyEvents.dispatch({ type: 'refresh_requested' });
  const before = [...handled];
  handled.push('started');
  earlyEvents.open(handle);
  earlyEvents.dispatch({ type: 'pause_requested' });

  expect(before).toEqual([]);
  expect(handled).toEqual(['started', 'change_announced', 'ticked', 'refresh_requested', 'pause_requested']);
});
