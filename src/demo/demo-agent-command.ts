import { fileURLToPath } from 'node:url';
import { shellWord } from '../domain/shell-word.js';

/** `codex.command` for the demo agent of this installation. It sets the pace itself, because agents get only variables on a list. */
export function demoAgentCommand(env: NodeJS.ProcessEnv): string {
  const agent = fileURLToPath(new URL('./agent.js', import.meta.url));
  const { BATON_DEMO_PACE_MS: pace } = env;
  const prefix = pace === undefined ? '' : `BATON_DEMO_PACE_MS=${shellWord(pace)} `;
  return `${prefix}${shellWord(process.execPath)} ${shellWord(agent)}`;
}
