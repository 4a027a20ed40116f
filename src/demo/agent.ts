import { DemoServer } from './demo-server.js';

/**
 * The demo agent: an app-server on stdin and stdout that speaks the protocol of codex and follows the bullet lines of an issue, so that
 * Baton can be tried without a model. It has no sandbox: commands run unchanged. BATON_DEMO_PACE_MS sets the pause between two
 * items; 0 is none.
 */
const server = new DemoServer(process.stdin, process.stdout, paceMs);

function exit(): void {
  server.close();
  process.exit(0);
}

process.stdin.on('end', exit);
process.stdin.on('error', exit);
process.stdout.on('error', exit);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, exit);

function paceMs(): number {
  const set = Number.parseInt(process.env.BATON_DEMO_PACE_MS ?? '', 10);
  return set >= 0 ? set : 150 + Math.round(Math.random() * 250);
}
