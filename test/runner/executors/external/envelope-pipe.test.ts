import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { EnvelopePipe } from '../../../../runner/executors/external/envelope.js';
import { forms, realClock } from '../../contain/workbench.js';
import { bash, externalStep } from './external-step.js';

const node = (text: string) => ({ command: process.execPath, args: ['-e', text] });

describe.each(forms)('with isolation %s', (form) => {
  const isolation = form === 'none' ? 'none' : 'auto';

  describe.each([
    ['small', 10],
    ['large', 300_000],
  ])('S0-32 S0-34 a program that reads all of a %s envelope never fails for that', (_, bytes) => {
    test.each([
      ['to its end', bash('exec cat >/dev/null')],
      ['and exits with the last byte, before the end', node(EXITS_EARLY)],
      ['in one go', node('require("fs").readFileSync(0)')],
      ['in a child of its own', bash('cat >/dev/null | true; cat <&0 >/dev/null; (cat >/dev/null)')],
      ['and leaves a process behind that holds its stdin', bash('cat >/dev/null; sleep 3600 >/dev/null 2>&1 <&0 &')],
      ['and closes its stdin before it works', bash('cat >/dev/null; exec <&-; sleep 0.02')],
    ])('%s', async (_name, definition) => {
      const ended = Array.from({ length: 4 }, async () => {
        const step = await externalStep({ isolation, definition });
        return step.run({ input: { padding: 'x'.repeat(bytes) } });
      });

      expect(await Promise.all(ended)).toMatchObject(ended.map(() => ({ state: 'success' })));
    });
  });
});

const EXITS_EARLY = `
  let text = '';
  process.stdin.on('data', (chunk) => {
    text += chunk;
    try { JSON.parse(text); } catch { return; }
    process.exit(0);
  });`;

test('S0-32 what was taken was read, even when the stream breaks before its end could be sent', async () => {
  const stdin = new Writable({ write: (_chunk, _encoding, taken) => taken(), final: () => {} });
  const pipe = new EnvelopePipe(stdin);
  pipe.end(Buffer.from('{}'));
  await setImmediate();

  stdin.destroy();

  expect(await pipe.wasRead(realClock)).toBe(true);
});

test('S0-32 what was not taken was not read', async () => {
  const stdin = new Writable({ write: () => {} });
  const pipe = new EnvelopePipe(stdin);
  pipe.end(Buffer.from('{}'));
  await setImmediate();

  stdin.destroy();

  expect(await pipe.wasRead(realClock)).toBe(false);
});
