import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { DAEMON_MARKER_NAME, MARKER_NAME, TREE_MARKER_NAME } from '../../../runner/contain/find-marked.js';
import { createClock } from '../../clock.js';
import type { Io } from '../io.js';
import { runShell, type ShellResult } from '../run-shell.js';
import { openOneWay } from './one-way.js';

const START_MS = 10_000;
const BROWSER_MS = 20_000;

/** Shows a URL in the browser of this person; a string says why that did not work. */
export async function openInBrowser(program: string, url: string, { env }: Pick<Io, 'env'>): Promise<string | null> {
  const way = await openOneWay(url);
  const clock = createClock();
  try {
    const containment = await detectContainment({ isolation: 'none', hide: [], clock });
    const known = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const bash = ['-p', '-c', SCRIPT, 'open', program, way.url];
    const result = await runShell({ bash, env: Object.fromEntries(known), cwd: '/', timeoutMs: START_MS }, containment);
    const failed = failureOf(result);
    if (failed !== null) return failed;
    return (await way.taken(BROWSER_MS)) ? null : 'no browser has come for it';
  } finally {
    clock.close();
    way.close();
  }
}

/**
 * A browser that is started by this is to stay when we go: it leaves our group and our marks, by which we end everything else. Whether
 * the program failed is known after a moment, or it has become the browser.
 */
const SCRIPT = `
unset ${MARKER_NAME} ${TREE_MARKER_NAME} ${DAEMON_MARKER_NAME}
set -m
"$@" </dev/null >/dev/null 2>&1 &
for ((look = 0; look < 20; look++)); do
  kill -0 $! 2>/dev/null || break
  sleep 0.1
done
kill -0 $! 2>/dev/null && exit 0
wait $!
`;

function failureOf(result: ShellResult): string | null {
  if (result.ended === 'not_started') return result.message;
  if (result.ended === 'timeout') return 'it took too long';
  return result.code === 0 ? null : `it ended with ${result.code ?? 'a signal'}`;
}
