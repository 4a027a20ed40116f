import { expect, test } from 'vitest';
import type { Note } from '../../src/domain/note.js';
import { createLogger, logNote } from '../../src/logging/logger.js';
import { createRedactor } from '../../src/logging/redact.js';
import { LogMonitor } from '../support/event-monitor.js';

function logged(note: Note): object | undefined {
  const records = new LogMonitor();
  logNote(createLogger({ level: 'debug', redactor: createRedactor(), stream: records.stream }), note);
  return records.seen[0];
}

test('a note becomes a line with a constant message, snake_case fields and its identity', () => {
  const record = logged({
    level: 'warn',
    message: 'run failed, retrying',
    issueId: 'i1',
    identifier: 'AB-1',
    runId: 'r1',
    fields: { delayMs: 10_000, code: 'turn_failed' },
  });

  expect(record).toMatchObject({
    level: 'warn',
    msg: 'run failed, retrying',
    issue_id: 'i1',
    issue_identifier: 'AB-1',
    run_id: 'r1',
    delay_ms: 10_000,
    code: 'turn_failed',
  });
});

test('a note about no issue has no identity', () => {
  expect(Object.keys(logged({ level: 'info', message: 'm' }) ?? {})).toEqual(['level', 'time', 'msg']);
});

test('a field cannot pass for the identity of the note', () => {
  const record = logged({
    level: 'info',
    message: 'm',
    issueId: 'mine',
    fields: { issueId: 'other', issue_id: 'other' },
  });

  expect(record).toMatchObject({ issue_id: 'mine' });
});

test('a title is cut to what is needed to recognise it', () => {
  const record = logged({ level: 'info', message: 'm', fields: { title: '🙂'.repeat(500), detail: 'x'.repeat(500) } });

  expect(record).toMatchObject({ title: `${'🙂'.repeat(119)}…`, detail: 'x'.repeat(500) });
  expect(logged({ level: 'info', message: 'm', fields: { title: 'A short one' } })).toMatchObject({
    title: 'A short one',
  });
});
