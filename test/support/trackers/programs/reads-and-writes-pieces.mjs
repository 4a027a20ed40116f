// Reads a little at a time, and writes its answer in small pieces that cut characters.
import { setTimeout as pause } from 'node:timers/promises';
import { issue, note } from './lines.mjs';

note('start');
let text = '';
process.stdin.setEncoding('utf8');
for await (const chunk of process.stdin) {
  text += chunk;
  await pause(1);
  const at = text.indexOf('\n');
  if (at === -1) continue;
  const { id, method, params } = JSON.parse(text.slice(0, at));
  text = text.slice(at + 1);
  note(`${method} ${(params.ids ?? []).length}`);
  const issues =
    method === 'describe' ? [] : [issue('1', { title: 'Ünïcödé 日本語 🧪', description: '€'.repeat(500) })];
  const bytes = Buffer.from(`${JSON.stringify({ id, result: { issues } })}\r\n\r\n`);
  for (let start = 0; start < bytes.length; start += 7) {
    process.stdout.write(bytes.subarray(start, start + 7));
    if (start % 70 === 0) await pause(0);
  }
}
