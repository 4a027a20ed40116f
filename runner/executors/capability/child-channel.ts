import type { Duplex } from 'node:stream';
import type { Fields } from '../../../src/domain/fields.js';
import { type FairScheduler, readFairly } from '../codex/fair-reader.js';
import { LineSplitter } from '../codex/line-splitter.js';
import { parseObject } from './bounded-json.js';

const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Hears the messages of a child's IPC channel. What is no JSON object is left out. Settles at its end. */
export function hearChannel(
  channel: Duplex,
  scheduler: FairScheduler,
  onMessage: (message: Fields) => void,
): Promise<void> {
  const splitter = new LineSplitter(MAX_LINE_BYTES);
  return new Promise((resolve) => {
    readFairly(channel, scheduler, {
      onChunk: (chunk) => {
        for (const line of splitter.push(chunk)) {
          const message = parseObject(line);
          if (message !== null) onMessage(message);
        }
        return undefined;
      },
      onEnd: resolve,
    });
  });
}
