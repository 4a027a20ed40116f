import { fileURLToPath } from 'node:url';
import { shellQuoted } from './line-peer.js';

/** `codex.command` for the demo agent of this installation. Its pace goes along: agents get no variables but those on a list. */
export function demoAgentCommand(env: NodeJS.ProcessEnv): string {
  const agent = fileURLToPath(new URL('./agent.js', import.meta.url));
  const { BATON_DEMO_PACE_MS: pace } = env;
  const prefix = pace === undefined ? '' : `BATON_DEMO_PACE_MS=${shellQuoted(pace)} `;
  return `${prefix}${shellQuoted(process.execPath)} ${shellQuoted(agent)}`;
}
