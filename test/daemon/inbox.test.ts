import { expect, test } from 'vitest';
import { Inbox } from '../../src/daemon/daemon.js';
import type { OrchestratorEvent } from '../../src/domain/events.js';

test('what happens before the beginning is heard after it, in its order, and before what comes then', () => {
  const inbox = new Inbox();
  const heard: string[] = [];
  const handle = ({ type }: OrchestratorEvent) => {
    heard.push(type);
    if (type === 'change_announced') inbox.dispatch({ type: 'ticked' });
  };

  inbox.dispatch({ type: 'change_announced' });
  inbox.dispatch({ type: 'refresh_requested' });
  const before = [...heard];
  heard.push('started');
  inbox.open(handle);
  inbox.dispatch({ type: 'pause_requested' });

  expect(before).toEqual([]);
  expect(heard).toEqual(['started', 'change_announced', 'ticked', 'refresh_requested', 'pause_requested']);
});
