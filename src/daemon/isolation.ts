import type { Containment } from '../../runner/contain/process.js';
import { BatonError } from '../domain/errors.js';
import type { Workflow } from '../domain/workflow.js';

/** The secrets in the daemon's environment, by name. Without a namespace every agent can read them in /proc. */
export function secretsInEnvironment({ secretNames }: Pick<Workflow, 'secretNames'>, env: NodeJS.ProcessEnv): string[] {
  return secretNames.filter((name) => (env[name] ?? '') !== '');
}

/**
 * Returns `isolation_needed` when agents could read secrets only because this machine has no namespaces: the user must accept that with
 * `isolation: none`.
 */
export function isolationFault(
  { kind, reason }: Pick<Containment, 'kind' | 'reason'>,
  workflow: Pick<Workflow, 'secretNames' | 'config'>,
  env: NodeJS.ProcessEnv,
): BatonError | null {
  const secrets = secretsInEnvironment(workflow, env);
  if (kind !== 'none' || workflow.config.runtime.isolation !== 'auto' || secrets.length === 0) return null;
  const message = `${reason} An agent could read ${secrets.join(', ')} from the environment of the daemon, and the daemon's state and token. Make namespaces work (docs/containment.md), or accept this with these lines in WORKFLOW.md:\nruntime:\n  isolation: none`;
  return new BatonError('isolation_needed', message, { secrets });
}
