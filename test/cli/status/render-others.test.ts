import { describe, expect, test } from 'vitest';
import { storedView } from '../../../src/cli/status.js';
import { renderDaemons, renderStored } from '../../../src/cli/status-view.js';
import { changeKey } from '../../../src/cli/watch-status.js';
import type { Durable } from '../../../src/domain/durable.js';
import { formatMoment } from '../../../src/text/format-time.js';
import { CLAIMS, finished, parked } from '../../store/stored-samples.js';
import { ago, frame, NOW, named, parkedIssue, readyIssue, runningRun, stateWith } from './sample-state.js';

const HOUR = 3_600_000;
const INSTANT = { wallMs: NOW, awakeMs: 0, day: '2026-11-18', dayEndsAtMs: NOW + 12 * HOUR };
const NOTHING: Durable = { claims: {}, records: {}, holds: {}, pausedSinceMs: null, ledger: {}, finished: [] };

describe('what was stored', () => {
  const facts = { place: '/home/me/WORKFLOW.md', storedAtMs: NOW - HOUR, start: 'baton' };

  test('is told as such, with the time, and how to start the daemon', () => {
    const durable: Durable = {
      ...NOTHING,
      claims: { ...CLAIMS, D: parked('D') },
      holds: { agent: { code: 'agent_quota', message: 'used up', sinceMs: 1, tries: 0, untilMs: null, probed: [] } },
      pausedSinceMs: NOW - 2 * HOUR,
      finished: [finished('old', 1, NOW - 60 * HOUR), finished('E', 2, NOW - 30 * HOUR), finished('F', 1, NOW - HOUR)],
    };

    const text = renderStored(storedView(durable, INSTANT), facts, frame());

    expect(text).toBe(`/home/me/WORKFLOW.md
No daemon is running; this is what was stored at ${formatMoment(NOW - HOUR, NOW)}.
To start it: baton
Paused for 2 h; this lasts over a start, until: baton resume
It was on hold (agent_quota): used up

Needs you (2): start the daemon to answer
  A  Title of A
     │ Which one?
     │ One (a | b)
  C  Title of C                                          parked 20775 d 11 h ago
     │ Which one?
     │ One (a | b)

Interrupted (1): they go on when the daemon is started
  A  Title of A                                                            run 3

Waiting (1)
  B  Title of B                                    retry due · 2 failed in a row
     no_slot: no available orchestrator slots

Parked (1)
  D  Title of D                                        budget · 20775 d 11 h ago
     spent

Done since yesterday (2)
  id-F  ✓ t                                            1 run, 5 tokens · 1 h ago
  id-E  ✓ t                                       2 runs, 5 tokens · 1 d 6 h ago
`);
  });

  test('may be nothing at all', () => {
    const text = renderStored(storedView(NOTHING, INSTANT), { ...facts, storedAtMs: null }, frame());

    expect(text).toBe(`/home/me/WORKFLOW.md
No daemon is running, and none has stored anything here.
To start it: baton
`);
  });
});

describe('every daemon of a person', () => {
  const holder = { pid: 4242, since: ago(600), workflow: '/home/me/one/WORKFLOW.md', stateDir: '/state/one' };

  test('is told in a few lines', () => {
    const question = { id: 'q', kind: 'approval', text: 'May I?', fields: [] } as const;
    const busy = stateWith({
      running: [runningRun(1, 'a'), runningRun(2, 'b', { asking: true })],
      asking: [
        {
          ...named(2, 'b'),
          ...{ run_id: 'run-2', asked_at: null, answer_until: null, on_timeout: 'park' },
          questions: [{ ...question, fields: [] }],
        },
      ],
      parked: [parkedIssue(3, 'c', { question: { ...question, fields: [] } }), parkedIssue(4, 'd')],
      ready: [readyIssue(5, 'e')],
    });
    const idle = stateWith({ why_idle: 'TASK-9 is parked (no_progress, 3 runs left it as it was).' });
    const hold = {
      ...{ source: 'agent', code: 'agent_quota', message: 'used up', action: 'Wait.' },
      ...{ since: null, until: null, tries: 0 },
    };
    const held = stateWith({ running: [runningRun(1, 'a')], hold, holds: [hold] });

    const text = renderDaemons(
      [
        { holder, answer: busy },
        { holder: { ...holder, workflow: '/two/WORKFLOW.md' }, answer: idle },
        { holder: { ...holder, workflow: '/three/WORKFLOW.md' }, answer: held },
        { holder: { ...holder, workflow: '/four/\u001b[2J' }, answer: { silent: 'it gave no answer within 5 s' } },
      ],
      frame(),
    );

    expect(text).toBe(`/home/me/one/WORKFLOW.md
  2 need you · 1 running · 1 asking · 1 next · 1 parked · pid 4242, up 10 min

/two/WORKFLOW.md
  0 running · pid 4242, up 10 min
  TASK-9 is parked (no_progress, 3 runs left it as it was).

/three/WORKFLOW.md
  1 needs you · 1 running · pid 4242, up 10 min
  On hold (agent_quota): used up

/four/\\u001b[2J
  pid 4242, up 10 min; it gives no status: it gave no answer within 5 s

More about one of them: baton status <workflow>
`);
  });

  test('may be none', () => {
    expect(renderDaemons([], frame())).toBe(
      'No daemon of yours is running, and there is no WORKFLOW.md in this folder.\nTo make one: baton init\n',
    );
  });
});

describe('a change that a person would see', () => {
  const before = stateWith({ running: [runningRun(1, 'a')], ready: [readyIssue(2, 'b', 'no free slot')] });

  test('is not that time goes on, that the tracker was read, or that tokens are spent', () => {
    const later = {
      ...before,
      generated_at: ago(-60),
      tokens_today: { spent: 9, limit: null },
      poll: { ...before.poll, last: ago(-50), next: ago(-80), in_flight: true },
      running: [runningRun(1, 'a', { last_event_at: ago(-50), budget: { spent: 9, limit: 10 } })],
    };

    expect(changeKey(later)).toBe(changeKey(before));
  });

  test.each([
    ['a run that says something else', { running: [runningRun(1, 'a', { last_message: 'is thinking' })] }],
    ['a run that has ended', { running: [] }],
    ['an issue that was parked', { parked: [parkedIssue(3, 'c')] }],
    ['a pause', { paused: { since: ago(1) } }],
    ['a tracker that cannot be read', { poll: { ...before.poll, health: 'failed' as const, error: 'gone' } }],
  ])('is %s', (_, change) => {
    expect(changeKey({ ...before, ...change })).not.toBe(changeKey(before));
  });
});
