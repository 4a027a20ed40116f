import { describe, expect, test } from 'vitest';
import { EventMonitor, LogMonitor } from '../support/event-monitor.js';

describe('the monitor of events', () => {
  test('returns each event once, even one from before the request', async () => {
    const monitor = new EventMonitor<{ type: string; n: number }>();
    monitor.push({ type: 'a', n: 1 });

    const later = [monitor.next('a'), monitor.next('b')];
    monitor.push({ type: 'b', n: 2 });
    monitor.push({ type: 'a', n: 3 });

    expect(await Promise.all(later)).toEqual([
      { type: 'a', n: 1 },
      { type: 'b', n: 2 },
    ]);
    expect(await monitor.next('a')).toEqual({ type: 'a', n: 3 });
    expect(monitor.all('a')).toHaveLength(2);
  });

  test('reports the seen events when the expected one does not come', async () => {
    const monitor = new EventMonitor<{ type: string }>();
    monitor.push({ type: 'seen' });

    await expect(monitor.next('missing', 10)).rejects.toThrow(
      /no "missing" within 10 ms; seen so far:\n {2}\{"type":"seen"\}/,
    );
  });

  test('finds log records by their message or by a test', async () => {
    const records = new LogMonitor();
    records.stream.write('{"level":"info","msg":"one"}\n');
    records.stream.write('{"level":"warn","msg":"two"}\n');

    expect(await records.next('one')).toMatchObject({ level: 'info' });
    expect(await records.next(({ level }) => level === 'warn')).toMatchObject({ msg: 'two' });
  });
});
