// The reference for the flood: reads files from as many `cat`s and parses each line, nothing else.
//   node test/bench/flood-reader.mjs <file>…
import { spawn } from 'node:child_process';
import { cpuSeconds, peakMb } from './burst.mjs';
import { ended, now } from './measure.mjs';

let events = 0;
const before = cpuSeconds(process.pid);
const begin = now();

await Promise.all(
  process.argv.slice(2).map((file) => {
    const child = spawn('cat', [file], { stdio: ['ignore', 'pipe', 'inherit'] });
    let partial = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      const lines = (partial + text).split('\n');
      partial = lines.pop();
      for (const line of lines) if (JSON.parse(line).method) events += 1;
    });
    return ended(child);
  }),
);
const seconds = (now() - begin) / 1000;
const { user, system } = cpuSeconds(process.pid);
const cpu = user + system - before.user - before.system;
console.log(
  JSON.stringify({ events, rate: events / seconds, perCpuSecond: events / cpu, peakMb: peakMb(process.pid) }),
);
