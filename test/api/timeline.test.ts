import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Activity } from '../../src/api/activity.js';
import { readTimeline } from '../../src/api/read-timeline.js';
import { timelineEntryShape } from '../../src/api/schemas.js';
import { planOf, type TranscriptLine, timelineEntry } from '../../src/api/timeline.js';
import { success } from '../../src/domain/outcome.js';

const TIME = '2026-01-01T00:00:00.000Z';
const line = (kind: string, data: unknown): TranscriptLine => ({ time: TIME, kind, data });
const notice = (method: string, data: object) => line('notification', { type: 'notification', method, data });
const message = (text: string) => notice('item/completed', { item: { type: 'agentMessage', text } });

const TOLD: [TranscriptLine, string, string][] = [
  [line('run_began', { run_id: 'r', number: 2, reason: 'retry' }), 'run', 'run 2 began (retry)'],
  [
    line('hook', { hook: 'before_run', outcome: 'ok', duration_ms: 1200, stdout: 'out\n', stderr: '' }),
    'hook',
    'hook before_run finished (1.2 s)',
  ],
  [
    line('hook', { hook: 'after_run', outcome: 'held', duration_ms: 5, message: null }),
    'hook',
    'hook after_run finished, but its push waits for a person (5 ms)',
  ],
  [
    line('hook', { hook: 'after_run', outcome: 'failed', duration_ms: 5, message: 'exit 1' }),
    'hook',
    'hook after_run failed: exit 1 (5 ms)',
  ],
  [line('prompt', 'Do this\nand that'), 'agent', 'received its prompt'],
  [line('step_started', { step: 'plan', kind: 'llm' }), 'step', 'step plan (llm) began'],
  [
    line('step_finished', { step: 'plan', outcome: { state: 'success' }, duration_ms: 50 }),
    'step',
    'step plan finished (50 ms)',
  ],
  [line('asked', { id: 'q', text: 'May I?' }), 'question', 'asks a person: May I?'],
  [line('answered', { id: 'q', text: 'accept' }), 'question', 'a person answered: accept'],
  [line('message', { text: 'use tabs' }), 'question', 'a person sent a message: use tabs'],
  [message('Done with it'), 'agent', 'said: Done with it'],
  [
    line('turn_failed', { type: 'turn_failed', data: { message: 'no', code: 'turn_failed' } }),
    'problem',
    'the turn failed: no (turn_failed)',
  ],
  [line('stderr', 'panic'), 'problem', 'wrote to stderr: panic'],
  [line('run_ended', success(null, { turns: 2 })), 'run', 'the run finished after 2 turns'],
  [
    line('run_ended', success(null, { afterRunFailed: true })),
    'run',
    'the run finished, but after_run failed, so its work may not be pushed',
  ],
  [line('cut', { max_bytes: 5 }), 'problem', 'some lines of the transcript are missing here'],
];

describe('the timeline of a run', () => {
  test.each(TOLD)('%j has its entry', (given, kind, text) => {
    expect(timelineEntry(given)).toMatchObject({ at: TIME, kind, text });
  });

  test.each([
    [notice('item/agentMessage/delta', { delta: 'x' })],
    [notice('item/started', { item: { type: 'reasoning' } })],
    [notice('thread/tokenUsage/updated', {})],
    [line('plan', {})],
    [line('nobody knows', {})],
  ])('%j is not', (given) => {
    expect(timelineEntry(given)).toBeNull();
  });

  test('has the output of hooks and commands and long messages behind their line, bounded', () => {
    const hook = timelineEntry(line('hook', { hook: 'h', outcome: 'ok', stdout: 'a\nb\n', stderr: 'c' }));
    const command = { type: 'commandExecution', command: 'ls', exitCode: 0, aggregatedOutput: 'x\ny' };
    const ran = timelineEntry(notice('item/completed', { item: command }));
    const long = timelineEntry(message('word '.repeat(10_000)));

    const cut = notice('turn/plan/updated', { plan: [{ step: 'a', status: 'pending' }, '… (5 more)'] });

    expect(planOf(cut)).toEqual([{ step: 'a', status: 'pending' }]);
    expect([hook?.detail, ran?.detail]).toEqual(['a\nb\nc', 'x\ny']);
    expect(ran).not.toHaveProperty('detail_omitted');
    expect(long?.detail_omitted).toBe('word '.repeat(10_000).trim().length - 8_000);
    expect(long?.detail?.length).toBeLessThan(9_000);
  });

  test('counts what was cut from a message before it was written down', () => {
    const item = { type: 'agentMessage', text: 'word '.repeat(400), text_omitted: 100 };

    expect(timelineEntry(notice('item/completed', { item }))?.detail_omitted).toBe(100);
  });

  test('has a comment of several lines behind its line', () => {
    const comment = 'Fixed the parser and its tests:\n\n- one case\n- another case';
    const item = { type: 'dynamicToolCall', tool: 'update_issue', arguments: { comment, comment_omitted: 7 } };

    expect(timelineEntry(notice('item/completed', { item }))).toMatchObject({
      text: 'called update_issue: Fixed the parser and its tests:',
      detail: comment,
      detail_omitted: 7,
    });
  });

  test('SEC-17 is harmless whatever agents send, and has the shape that is described', () => {
    const kinds = fc.constantFrom(...TOLD.map(([{ kind }]) => kind), 'other_message', 'turn_input_required');
    fc.assert(
      fc.property(kinds, fc.anything(), (kind, data) => {
        const entry = timelineEntry(line(kind, data));

        if (entry === null) return;
        expect(timelineEntryShape.parse(entry)).toEqual(entry);
        expect(entry.text).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
      }),
    );
    const hostile = timelineEntry(message('\u001b[2Jhi\u202e\nthere'));
    expect(hostile?.text).toBe('said: \\u001b[2Jhi\\u202e there');
    expect(hostile?.detail).toBe('\\u001b[2Jhi\\u202e\nthere');
  });
});

describe('the timeline in memory', () => {
  test('equals the timeline of the transcript', async () => {
    const lines = [
      ...TOLD.map(([each]) => each),
      notice('turn/plan/updated', { plan: [{ step: 'a', status: 'completed' }] }),
    ];
    lines.push(notice('turn/diff/updated', { diff: '+x' }));
    const dir = mkdtempSync(join(tmpdir(), 'baton-timeline-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const path = join(dir, 'r.jsonl');
    writeFileSync(path, `${lines.map((each) => JSON.stringify(each)).join('\n')}\n{"torn`);
    const activity = new Activity();
    for (const each of lines) activity.write('r', each);
    activity.ended('r');

    const live = activity.timeline('r')?.timeline;

    expect(await readTimeline(path, 'r')).toEqual(live);
    expect(live).toMatchObject({
      plan: [{ step: 'a', status: 'completed' }],
      diff: '+x',
      live: false,
      truncated: false,
    });
    expect(await readTimeline(join(dir, 'none'), 'r')).toBeNull();
  });

  test('is bounded and marked as truncated', () => {
    const activity = new Activity();
    for (let n = 0; n < 5_000; n++) activity.write('r', message(`m${n}`));
    for (let n = 0; n < 50; n++) {
      activity.write(`e${n}`, line('run_began', { identifier: `I-${n}` }));
      activity.ended(`e${n}`);
    }

    const found = activity.timeline('r');
    expect(found?.entryCount).toBe(5_000);
    expect(found?.timeline.truncated).toBe(true);
    expect(found?.timeline.entries.length).toBeLessThanOrEqual(800);
    expect(found?.timeline.entries.at(-1)?.text).toBe('said: m4999');
    expect([activity.runOf('I-0'), activity.runOf('I-49')]).toEqual([null, 'e49']);
  });

  test('knows what a run was last seen doing, and the limits of the account', () => {
    const activity = new Activity();
    activity.write('r', message('hi'));
    activity.write('r', notice('account/rateLimits/updated', { rateLimits: { primary: 5 } }));

    expect(activity.of('r')).toMatchObject({ lastEvent: 'account/rateLimits/updated', lastMessage: 'said: hi' });
    expect(activity.rateLimits).toEqual({ rateLimits: { primary: 5 } });
  });
});
