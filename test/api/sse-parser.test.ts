import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type SseEvent, SseParser } from '../../src/api/sse-parser.js';

function read(...chunks: string[]): SseEvent[] {
  const parser = new SseParser();
  return chunks.flatMap((chunk) => parser.push(chunk));
}

describe('a stream of server-sent events', () => {
  test('gives an event at the blank line that ends it, and not before', () => {
    const parser = new SseParser();

    expect(parser.push('event: patch\nid: 7\ndata: {"a":1}\n')).toEqual([]);
    expect(parser.push('\n')).toEqual([{ event: 'patch', id: '7', data: '{"a":1}' }]);
  });

  test('an event without a name is a message', () => {
    expect(read('data: x\n\n')).toEqual([{ event: 'message', id: null, data: 'x' }]);
  });

  test('several lines of data are one text', () => {
    expect(read('data: one\ndata:two\ndata\ndata:  three\n\n')).toEqual([
      { event: 'message', id: null, data: 'one\ntwo\n\n three' },
    ]);
  });

  test('lines end in LF, CRLF or CR', () => {
    const wanted = [
      { event: 'a', id: null, data: '1' },
      { event: 'b', id: null, data: '2' },
    ];

    for (const end of ['\n', '\r\n', '\r']) {
      const text = ['event: a', 'data: 1', '', 'event: b', 'data: 2', '', ''].join(end);
      // A CR at the end may be half of a CRLF, so that the last event waits for the next line.
      expect(read(text, `:${end}`), JSON.stringify(end)).toEqual(wanted);
    }
  });

  test('comments and unknown fields are nothing', () => {
    expect(read(': ping\n\n:\n: data: x\n\ncolour: red\n\n')).toEqual([]);
    expect(read('data: 1\n: ping\ndata: 2\n\n')).toEqual([{ event: 'message', id: null, data: '1\n2' }]);
  });

  test('an event has the id that it was sent with, and no other', () => {
    const events = read('id: 1\ndata: a\n\ndata: b\n\nid: 2\n\ndata: c\n\n');

    expect(events.map(({ id, data }) => [data, id])).toEqual([
      ['a', '1'],
      ['b', null],
      ['c', null],
    ]);
  });

  test('an id with a NUL is not one', () => {
    expect(read('id: 1\nid: 2\0\ndata: a\n\n')).toMatchObject([{ id: '1' }]);
  });

  test('the name of an event does not hold for the next', () => {
    expect(read('event: x\n\ndata: a\n\n')).toMatchObject([{ event: 'message' }]);
  });

  test('retry is remembered where it is a number', () => {
    const parser = new SseParser();

    parser.push('retry: 2500\nretry: soon\nretry: -1\n\n');

    expect(parser.retryMs).toBe(2500);
  });

  test('is parsed the same for every chunking, with either line ending', () => {
    const piece = fc.constantFrom(
      ...['data: x\n', 'data:y\n', 'data: z\n', '\n', ': ping\n', 'id: 4\n', 'event: e\n', 'retry: 1\n', 'd'],
    );
    // One line ending per stream: the parser reads `\n\r` differently when it is split, and no server of ours mixes them.
    const stream = fc
      .tuple(fc.array(piece, { maxLength: 30 }), fc.constantFrom('\n', '\r\n'))
      .map(([pieces, lineEnd]) => pieces.join('').replaceAll('\n', lineEnd));

    fc.assert(
      fc.property(stream, fc.array(fc.nat(200), { maxLength: 20 }), (text, cuts) => {
        const places = [0, ...cuts.filter((cut) => cut <= text.length).sort((a, b) => a - b), text.length];
        const chunks = places.slice(1).map((end, index) => text.slice(places[index], end));

        expect(read(...chunks)).toEqual(read(text));
        expect(read(...text)).toEqual(read(text));
      }),
    );
  });

  test('an event without end is refused, however it comes', () => {
    const megabyte = 'x'.repeat(1024 * 1024);
    const oneLine = new SseParser();
    const manyLines = new SseParser();

    expect(() => {
      for (let count = 0; count < 65; count++) oneLine.push(megabyte);
    }).toThrow(/max buffer size/);
    expect(() => {
      for (let count = 0; count < 65; count++) manyLines.push(`data: ${megabyte}\n`);
    }).toThrow(/max buffer size/);
  });

  test('comments without end are no event: a stream may be quiet for days', () => {
    const parser = new SseParser();
    const comment = `: ${'x'.repeat(1024 * 1024)}\n`;

    for (let count = 0; count < 70; count++) parser.push(comment);

    expect(parser.push('data: a\n\n')).toMatchObject([{ data: 'a' }]);
  });
});
