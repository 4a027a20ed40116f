import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('children/limited-namespaces.sh', import.meta.url));

/**
 * Namespaces of the command that follows: `forbidden` by a limit of 0, `exhausted` by a program that holds the only one, `one` that it can
 * use up itself, or `free`. The limit holds in a user namespace of its own, so that it needs no rights and concerns no other program.
 */
export function namespacesAre(state: 'forbidden' | 'exhausted' | 'one' | 'free'): readonly [string, ...string[]] {
  const limit = { forbidden: ['0', 'free'], exhausted: ['1', 'used'], one: ['1', 'free'], free: ['100', 'free'] }[
    state
  ];
  return ['unshare', '--user', '--map-user=1000', '--map-group=1000', '--keep-caps', 'bash', SCRIPT, ...limit];
}
