import { describe, expect, test } from 'vitest';
import { formatPretty } from '../../src/logging/pretty.js';

const plain = (record: object) =>
  formatPretty(JSON.stringify({ level: 'info', time: '2026-01-01T00:00:00Z', ...record }), { colour: false });

describe('a pretty line', () => {
  test('shows time, level, message, identifier, then the fields', () => {
    const line = plain({
      issue_id: 'i1',
      issue_identifier: 'AB-1',
      attempt: 2,
      reason: 'no slot',
      msg: 'run failed, retrying',
    });

    expect(line).toMatch(/^\d\d:\d\d:\d\d\.000 INFO {2}run failed, retrying AB-1 attempt=2 reason="no slot"\n$/);
  });

  test('SEC-17 is one line without control characters for any field', () => {
    const evil = 'x\u001b[2J\r\nINFO forged \u009b1m\u202e';

    const line = plain({ msg: evil, issue_identifier: evil, [evil]: evil, nested: { deep: [evil] } });

    expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(line.endsWith('\n')).toBe(true);
  });

  test('has colours only on request', () => {
    const json = '{"level":"warn","time":"2026-01-01T00:00:00Z","msg":"m"}';

    expect(formatPretty(json, { colour: false })).not.toContain('\u001b');
    expect(formatPretty(json, { colour: true })).toContain('\u001b[33mWARN');
  });

  test('shows the code of our own errors and the stack of others', () => {
    const own = plain({ err: { type: 'BatonError', message: 'No disk.', code: 'low_disk', stack: 'S' }, msg: 'm' });
    const other = plain({
      err: { type: 'TypeError', message: 'x is not a function', stack: 'TypeError\n at y' },
      msg: 'm',
    });

    expect(own).toContain('err="No disk." code=low_disk');
    expect(own).not.toContain('stack');
    expect(other).toContain('err="x is not a function" stack="TypeError\\n at y"');
  });

  test('accepts a record without the usual fields', () => {
    expect(formatPretty('{"masked":"***"}', { colour: false })).toBe('--:--:--.--- ?      masked=***\n');
  });

  test('cuts a long value and keeps its closing quote', () => {
    const line = plain({ data: 'x y'.repeat(100_000), list: ['x'.repeat(1_000)], last: 1, msg: 'm' });

    expect(line.length).toBeLessThan(1_200);
    expect(line).toMatch(/ data="[xy ]+…" list=\["x+… last=1\n$/);
  });

  test('escapes each control character once, even when the field was neutralised before', () => {
    const line = plain({ raw: 'no \u001b[31mway', visible: String.raw`no \u001b[31mway`, path: 'C:\\x', msg: 'm' });

    expect(line).toContain(String.raw`raw="no \u001b[31mway" visible="no \u001b[31mway" path=C:\x`);
  });
});
