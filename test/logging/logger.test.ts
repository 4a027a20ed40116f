import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BatonError } from '../../src/domain/errors.js';
import type { Note } from '../../src/domain/note.js';
import { createLogger, logNote } from '../../src/logging/logger.js';
import { createRedactor } from '../../src/logging/redact.js';
import { LogMonitor } from '../support/event-monitor.js';

const CANARY = 'canary-"tøken"/0123456789';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'baton-logger-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function lines(): { stream: { write(line: string): void }; text: string[] } {
  const text: string[] = [];
  return { stream: { write: (line) => void text.push(line) }, text };
}

test('the stream may have a higher level than the file', () => {
  const { stream, text } = lines();
  const file = join(dir, 'log');
  const log = createLogger({
    ...{ level: 'info', streamLevel: 'error', redactor: createRedactor() },
    ...{ stream, pretty: false, file: { path: file } },
  });

  log.info('all is well');
  log.error('all is lost');

  expect(text.join('')).not.toContain('all is well');
  expect(text.join('')).toContain('all is lost');
  expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(2);
});

describe('a log line', () => {
  test('is one JSON object with time, level, identity and message', () => {
    const records = new LogMonitor();
    const log = createLogger({ level: 'info', redactor: createRedactor(), stream: records.stream });

    const runLog = log.child({ issue_id: 'i1', issue_identifier: 'AB-1', run_id: 'r1' });
    runLog.child({ session_id: 't1-u1' }).info({ turn: 2 }, 'turn started');

    expect(records.seen).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        issue_id: 'i1',
        issue_identifier: 'AB-1',
        run_id: 'r1',
        session_id: 't1-u1',
        turn: 2,
        msg: 'turn started',
      },
    ]);
  });

  test('is written only at its level or above', () => {
    const records = new LogMonitor();
    const log = createLogger({ level: 'warn', redactor: createRedactor(), stream: records.stream });

    log.info('quiet');
    log.warn('loud');

    expect(records.seen.map(({ msg }) => msg)).toEqual(['loud']);
  });

  test('keeps code, message and cause of an error', () => {
    const records = new LogMonitor();
    const log = createLogger({ level: 'info', redactor: createRedactor(), stream: records.stream });

    log.error({ err: new BatonError('low_disk', 'Disk full.', { freeMb: 3 }, { cause: new Error('ENOSPC') }) }, 'held');

    expect(records.seen[0]?.err).toMatchObject({ type: 'BatonError', code: 'low_disk', details: { freeMb: 3 } });
    expect(JSON.stringify(records.seen[0])).toContain('ENOSPC');
  });

  test('SEC-20 contains no secret in any spelling, in message, fields, keys, errors, stacks and bindings', () => {
    const { stream, text } = lines();
    const log = createLogger({ level: 'info', redactor: createRedactor([CANARY]), stream });
    const inUrl = `https://tracker/?token=${encodeURIComponent(CANARY)}`;
    const basic = Buffer.from(`user:${CANARY}`).toString('base64');

    log
      .child({ bound: CANARY })
      .warn({ [CANARY]: { deep: [CANARY] }, json: JSON.stringify({ CANARY }) }, `msg ${CANARY}`);
    log.error({ err: new Error(`401 for ${inUrl}`, { cause: new Error(basic) }) }, 'tracker failed');

    const written = text.join('');
    expect(written).not.toMatch(/canary|0123456789/);
    expect(written).not.toContain(Buffer.from(`user:${CANARY}`).toString('base64').slice(8, 20));
    expect(text.map((line) => JSON.parse(line).msg)).toEqual(['msg ***', 'tracker failed']);
  });

  test('SEC-17 contains no control or bidirectional character', () => {
    const { stream, text } = lines();
    const log = createLogger({ level: 'info', redactor: createRedactor(), stream });

    log.info({ title: 'a\u001b[2J\u009b\u007f\u202e\u2028\r\nb' }, 'issue seen');

    expect(text.join('').slice(0, -1)).not.toMatch(/[\p{Cc}\u2028\u202e]/u);
    expect(text).toHaveLength(1);
  });

  test('is pretty on a terminal, coloured unless NO_COLOR is set, and JSON elsewhere', () => {
    const before = process.env.NO_COLOR;
    const write = (isTTY: boolean, pretty: boolean | 'auto' = 'auto') => {
      const { stream, text } = lines();
      createLogger({ level: 'info', redactor: createRedactor(), stream: { ...stream, isTTY }, pretty }).info('hello');
      return text.join('');
    };
    try {
      delete process.env.NO_COLOR;
      expect(write(true)).toContain('\u001b[32mINFO');
      expect(write(false, true)).toMatch(/^\d\d:\d\d:\d\d\.\d{3} INFO {2}hello\n$/);
      process.env.NO_COLOR = '1';
      expect(write(true)).toMatch(/^\d\d:\d\d:\d\d\.\d{3} INFO {2}hello\n$/);
      expect(JSON.parse(write(false)).msg).toBe('hello');
      expect(JSON.parse(write(true, false)).msg).toBe('hello');
    } finally {
      if (before === undefined) delete process.env.NO_COLOR;
      else process.env.NO_COLOR = before;
    }
  });

  test('goes to stream and file, which is always JSON', () => {
    const { stream, text } = lines();
    const path = join(dir, 'baton.log');
    const log = createLogger({ level: 'info', redactor: createRedactor(), stream, pretty: true, file: { path } });

    log.info('hello');

    expect(text.join('')).toContain('INFO  hello');
    expect(JSON.parse(readFileSync(path, 'utf8')).msg).toBe('hello');
  });
});

describe('a broken log sink', () => {
  test('loses lines, is reported once to the other sink, and counts the lost lines when it works again', () => {
    const records = new LogMonitor();
    let isBroken = true;
    const path = join(dir, 'wall', 'baton.log');
    writeFileSync(join(dir, 'wall'), '');
    const stream = {
      write(line: string) {
        if (isBroken) throw Object.assign(new Error('write EBADF'), { code: 'EBADF' });
        records.stream.write(line);
      },
    };
    const log = createLogger({ level: 'info', redactor: createRedactor(), stream, file: { path } });

    log.info('first');
    log.info('second');
    rmSync(join(dir, 'wall'));
    isBroken = false;
    log.info('third');

    expect(records.seen.map(({ msg }) => msg)).toEqual(['log lines were lost', 'third']);
    expect(records.seen[0]).toMatchObject({ sink: 'stream', reason: 'EBADF' });
    const file = readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(file.map(({ msg }) => msg)).toEqual(['log lines were lost', 'third']);
    expect(file[0]).toMatchObject({ sink: 'file', lost: expect.any(Number) });
  });

  test.skipIf(!existsSync('/dev/full'))(
    'does not stop the daemon when the disk is full, and continues afterwards',
    () => {
      const records = new LogMonitor();
      const path = join(dir, 'baton.log');
      symlinkSync('/dev/full', path);
      const log = createLogger({ level: 'info', redactor: createRedactor(), stream: records.stream, file: { path } });

      log.info('one');
      log.info('two');
      rmSync(path);
      log.info('three');
      log.info('four');

      expect(records.seen.map(({ msg }) => msg)).toEqual([
        'one',
        'log sink failed, its lines are lost',
        'two',
        'three',
        'four',
      ]);
      const file = readFileSync(path, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(file).toMatchObject([
        { msg: 'log lines were lost', lost: 2, reason: 'ENOSPC', sink: 'file' },
        { msg: 'three' },
        { msg: 'four' },
      ]);
    },
  );
});

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

test('a note without an issue has no identity', () => {
  expect(Object.keys(logged({ level: 'info', message: 'm' }) ?? {})).toEqual(['level', 'time', 'msg']);
});

test('a field of a note cannot replace its identity', () => {
  const record = logged({
    level: 'info',
    message: 'm',
    issueId: 'mine',
    fields: { issueId: 'other', issue_id: 'other' },
  });

  expect(record).toMatchObject({ issue_id: 'mine' });
});

test('a long title is cut', () => {
  const record = logged({ level: 'info', message: 'm', fields: { title: '🙂'.repeat(500), detail: 'x'.repeat(500) } });

  expect(record).toMatchObject({ title: `${'🙂'.repeat(119)}…`, detail: 'x'.repeat(500) });
  expect(logged({ level: 'info', message: 'm', fields: { title: 'A short one' } })).toMatchObject({
    title: 'A short one',
  });
});
