import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Activity } from '../../src/api/activity.js';
import { RunLog } from '../../src/daemon/run-log.js';
import type { StartOrder } from '../../src/domain/effects.js';
import { cancelled, failure, type Outcome, success } from '../../src/domain/outcome.js';
import type { RuntimeEvent, RuntimeEventType } from '../../src/domain/run-signal.js';
import { RUNTIME_EVENT_TYPES } from '../../src/domain/run-signal.js';
import { createLogger, type LogLevel } from '../../src/logging/logger.js';
import { createRedactor } from '../../src/logging/redact.js';
import { issue } from '../support/builders.js';
import { LogMonitor } from '../support/event-monitor.js';

const order = (runId: string, resume: StartOrder['resume'] = null): StartOrder => ({
  ...{ runId, workflowHash: 'h', issue: issue('A'), number: 1, reason: 'first', attempt: null, resume },
});

const event = (type: RuntimeEventType, rest: Partial<RuntimeEvent> = {}): RuntimeEvent => ({
  ...{ type, timestamp: '2026-11-16T00:00:00.000Z', pid: 1, threadId: 't', turnId: 'u', sessionId: 't-u' },
  ...rest,
});

const usage = (output: number, threadId = 't') =>
  event('notification', {
    method: 'thread/tokenUsage/updated',
    usage: { input: 10, cached: 5, output },
    data: { threadId },
  });

function logging(level: LogLevel = 'info') {
  const dir = mkdtempSync(join(tmpdir(), 'baton-run-log-'));
  mkdirSync(join(dir, 'transcripts'));
  const records = new LogMonitor();
  const redactor = createRedactor();
  const log = createLogger({ level, redactor, stream: records.stream });
  const runs = new RunLog(log, join(dir, 'transcripts'), redactor, new Activity());
  onTestFinished(async () => {
    await runs.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const transcript = async (runId: string) => {
    await runs.close();
    const lines = readFileSync(join(dir, 'transcripts', `${runId}.jsonl`), 'utf8')
      .trim()
      .split('\n');
    return lines.map((line) => JSON.parse(line) as { kind: string; data: unknown });
  };
  return { runs, records, transcript, messages: () => records.seen.map(({ msg }) => msg) };
}

/** A run from its beginning to this end, with what happens between. */
function told(outcome: Outcome, between: (runs: RunLog) => void, level: LogLevel = 'info') {
  const { runs, ...rest } = logging(level);
  runs.runBegan(order('r'));
  between(runs);
  runs.runEnded('r', outcome);
  return rest;
}

test('events of agents are logged as words, with their type in a field', () => {
  const { records } = told(
    success(null),
    (runs) => {
      for (const type of RUNTIME_EVENT_TYPES) runs.runtimeEvent('r', event(type));
    },
    'trace',
  );

  const lines = records.seen.filter((line) => 'event' in line);
  expect(lines.map((line) => line.event)).toEqual([...RUNTIME_EVENT_TYPES]);
  expect(lines.filter(({ msg }) => !/^[a-z]+( [a-z]+)+$/.test(msg))).toEqual([]);
});

test('a run that ended has its outcome, turns, tokens and duration', () => {
  const { records } = told(success(null, { turns: 2 }), (runs) => {
    runs.runtimeEvent('r', usage(100));
    runs.runtimeEvent('r', usage(200));
    runs.runtimeEvent('r', usage(50, 'of-a-sub-agent'));
  });

  expect(records.seen.at(-1)).toMatchObject({
    ...{ msg: 'run ended', outcome: 'success', turns: 2, tokens: 260, duration_ms: expect.any(Number) },
  });
});

test('a run that resumes a thread counts only new tokens, even when the earlier count is unknown', () => {
  const { runs, records } = logging();
  for (const [runId, resume, ...outputs] of [
    ['first', null, 100],
    ['second', 't', 150],
    ['of-another-daemon', 'agent#old', 1_000, 1_020],
  ] as const) {
    const thread = resume === 'agent#old' ? 'old' : 't';
    runs.runBegan(order(runId, resume === null ? null : { threadId: resume, answer: null }));
    for (const output of outputs) runs.runtimeEvent(runId, usage(output, thread));
    runs.runEnded(runId, success(null));
  }

  expect(records.all('run ended').map(({ tokens }) => tokens)).toEqual([105, 50, 20]);
});

const MESSAGE = 'no \u001b[31mway';

test.each([
  ['a turn', (runs: RunLog) => runs.runtimeEvent('r', event('turn_failed', { data: { message: MESSAGE } }))],
  [
    'a step, and the one around it',
    (runs: RunLog) => {
      runs.runtimeEvent('r', event('turn_failed', { data: { message: MESSAGE } }));
      for (const [stepId, kind] of [
        ['fix', 'agent'],
        ['both', 'parallel'],
      ] as const)
        runs.stepFinished('r', {
          ...{ stepId, kind, within: [], isSkipped: false, tries: 1, durationMs: 1 },
          outcome: failure('turn_failed', MESSAGE),
        });
    },
  ],
  [
    'a hook that ends the run',
    (runs: RunLog) =>
      runs.hookEnded({
        ...{ runId: 'r', issueId: 'A', identifier: 'A', hook: 'before_run', outcome: 'failed', durationMs: 1 },
        ...{ message: MESSAGE, stdout: '', stderr: '', truncated: false },
      }),
  ],
] as const)('%s that fails has one line: the end of the run, with code and detail', (_, fail) => {
  const { records } = told(failure('turn_failed', MESSAGE), fail);

  expect(records.seen).toMatchObject([{ msg: 'run ended', outcome: 'failed', code: 'turn_failed', detail: MESSAGE }]);
});

test('the end of a run names the step that made it fail', () => {
  const { records } = told(failure('turn_failed', 'x'), (runs) =>
    runs.stepFinished('r', {
      ...{ stepId: 'fix', kind: 'agent', within: [], isSkipped: false, tries: 1, durationMs: 1 },
      outcome: failure('turn_failed', 'x'),
    }),
  );

  expect(records.seen).toMatchObject([{ msg: 'run ended', step: 'fix' }]);
});

test('a step that failed without ending the run is warned about', () => {
  const facts = { kind: 'llm', within: [], isSkipped: false } as const;
  const { messages } = told(success(null), (runs) => {
    runs.stepFinished('r', {
      ...{ stepId: 'a', ...facts, tries: 1, durationMs: 1 },
      outcome: failure('turn_failed', 'x'),
    });
    runs.stepStarted('r', { stepId: 'b', ...facts });
    runs.stepFinished('r', { stepId: 'b', ...facts, tries: 1, durationMs: 1, outcome: success(null) });
  });

  expect(messages()).toEqual(['step did not finish well', 'step started', 'step finished', 'run ended']);
});

test('texts of agents are logged unchanged; only the logger escapes them', () => {
  const { records } = told(
    cancelled('operator'),
    (runs) => runs.runtimeEvent('r', event('turn_failed', { data: { message: MESSAGE, code: 'turn_failed' } })),
    'debug',
  );

  expect(records.all('turn failed')).toMatchObject([{ detail: MESSAGE, code: 'turn_failed', event: 'turn_failed' }]);
});

test('parts of a text are logged at trace only, and sentences are in detail', () => {
  const { records } = told(
    success(null),
    (runs) => {
      runs.runtimeEvent('r', event('notification', { method: 'item/agentMessage/delta', data: { delta: 'He' } }));
      runs.runtimeEvent(
        'r',
        event('notification', { method: 'item/completed', data: { item: { type: 'agentMessage', text: 'Hello' } } }),
      );
    },
    'debug',
  );

  expect(records.all('message of the agent')).toMatchObject([{ detail: 'said: Hello', method: 'item/completed' }]);
});

test('answers and messages of a person are logged without their text, which is in the transcript', async () => {
  const question = { id: 'q1', kind: 'input', text: 'Which?', fields: [{ id: 'f', label: 'F', options: [] }] } as const;
  const { records, transcript } = told(success(null), (runs) => {
    runs.answered('r', question, { kind: 'input', values: { f: 'a secret wish' } });
    runs.messageGiven('r', 'another wish');
  });

  expect(records.seen.slice(0, 2)).toMatchObject([
    { level: 'info', msg: 'a person answered', run_id: 'r', question_id: 'q1', decision: 'input' },
    { level: 'info', msg: 'a person sent a message', run_id: 'r', issue_identifier: 'A' },
  ]);
  expect(JSON.stringify(records.seen)).not.toContain('wish');
  expect(await transcript('r')).toMatchObject([
    { kind: 'run_began' },
    { kind: 'answered', data: { decision: 'input', text: 'a secret wish' } },
    { kind: 'message', data: { text: 'another wish' } },
    { kind: 'run_ended' },
  ]);
});

test('an answer by timeout does not count as an answer of a person', () => {
  const question = { id: 'q1', kind: 'approval', text: 'May I?', fields: [] } as const;
  const { messages } = told(success(null), (runs) => runs.answered('r', question, { kind: 'decline', isLate: true }));

  expect(messages()).toEqual(['run ended']);
});

test('a step that is skipped has not begun, and took no time', async () => {
  const step = { stepId: 'fix', kind: 'agent', within: [], isSkipped: true } as const;
  const { messages, transcript } = told(success(null), (runs) => {
    runs.stepStarted('r', step);
    runs.stepFinished('r', { ...step, outcome: 'skipped', tries: 0, durationMs: 0 });
  });

  expect(messages()).toEqual(['step skipped', 'run ended']);
  expect((await transcript('r')).slice(1, -1)).toEqual([
    expect.objectContaining({
      kind: 'step_finished',
      data: { step: 'fix', kind: 'agent', within: [], outcome: 'skipped' },
    }),
  ]);
});
