import { DemoServer } from './demo-server.js';

/**
 * The demo agent: an app-server on stdin and stdout that speaks codex's protocol and does what the bullet lines of an issue say, so
 * that Baton can be tried without a model. It is no sandbox: commands run as they stand. BATON_DEMO_PACE_MS sets the pause
 * between two items; 0 is none.
 */
const server = new DemoServer(process.stdin, process.stdout, paceMs);

function leave(): void {
  server.close();
  process.exit(0);
}

process.stdin.on('end', leave);
process.stdin.on('error', leave);
process.stdout.on('error', leave);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, leave);

function paceMs(): number {
  const set = Number.parseInt(process.env.BATON_DEMO_PACE_MS ?? '', 10);
  return set >= 0 ? set : 150 + Math.round(Math.random() * 250);
}
