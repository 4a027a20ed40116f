// Deliberate leaks that the soak must catch: BATON_SOAK_LEAK lists which of them grow in the daemon, by one per sample.
import { spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { openSync } from 'node:fs';

const kept = [];
const longLived = new EventEmitter().setMaxListeners(0);
const signal = new AbortController().signal;
process.setMaxListeners(0);
const PLAIN = { PATH: process.env.PATH };

const LEAKS = {
  descriptor: () => openSync('/dev/null'),
  timer: () => setInterval(() => {}, 1_000_000).unref(),
  'process-listener': () => process.on('warning', () => {}),
  'emitter-listener': () => longLived.on('never', () => {}),
  'abort-listener': () => signal.addEventListener('abort', () => {}),
  // Ends with the daemon, and does not look like a leftover of a run.
  child: () => spawn('setpriv', ['--pdeathsig', 'KILL', 'sleep', '600'], { stdio: 'ignore', env: PLAIN }).unref(),
  heap: () => kept.push(Array.from({ length: 40_000 }, (_, n) => `${Math.random()} ${n}`)),
  promise: () => kept.push(Array.from({ length: 100 }, () => new Promise(() => {}))),
};

const chosen = (process.env.BATON_SOAK_LEAK ?? '').split(',').filter((name) => name in LEAKS);

export function leakOnPurpose() {
  for (const name of chosen) LEAKS[name]();
}
