// Loaded into the daemon with --import. On SIGUSR2 it writes the delay of the event loop since the last time, in milliseconds, to the file
// named by BATON_BENCH_DELAY.
import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 10;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();

process.on('SIGUSR2', () => {
  const ms = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  const line = { p50: ms(delay.percentile(50)), p99: ms(delay.percentile(99)), max: ms(delay.max) };
  delay.reset();
  writeFileSync(process.env.BATON_BENCH_DELAY, JSON.stringify(line));
});
