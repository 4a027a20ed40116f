import { configDefaults, defineConfig } from 'vitest/config';

/**
 * What takes long and rarely breaks: git round trips, kills of the built daemon, simulated lives, programs of one's own (executors, capabilities, trackers, notices),
 * exploits with real daemons, locks and mounts, and how time grows with size. `npm run test:long`; CI runs it too.
 */
const LONG = [
  ...['test/cli/recover/**/*.test.ts', 'test/hooks/{git-scripts,commit-and-push}.test.ts'],
  ...['test/runner/workspace/save-work.test.ts', 'test/cli/own-workflow.test.ts'],
  'test/security/{git,reload,held-push,user-services,fixed-folders,containment,limits}.test.ts',
  'test/daemon/reopening.test.ts',
  ...['test/e2e/{killed,steps-stopped,notify,command-tracker}.test.ts', 'test/sim/*.test.ts'],
  ...['test/runner/executors/{external,capability}/*.test.ts', 'test/cli/{conformance,capability}/**/*.test.ts'],
  ...['test/cli/{executor,tracker}.test.ts', 'test/tracker/command/*.test.ts', 'test/daemon/notify-targets.test.ts'],
  ...['test/cli/init/init-{command,steps}.test.ts'],
  ...['test/store/instance-lock.test.ts', 'test/runner/contain/hidden-state.test.ts', 'test/cli/bad-places.test.ts'],
  ...['test/tracker/local/{many-problems,dependency-cycles}.test.ts', 'test/daemon/tracker-reload.test.ts'],
];
/** These need the real Codex (`npm run test:real`) or a browser (`npm run test:page`). */
const ELSEWHERE = ['test/real/**', 'test/page/*.test.ts'];

const isLong = process.env.BATON_TEST_LONG === '1';

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: isLong ? LONG : ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...ELSEWHERE, ...(isLong ? [] : LONG)],
    setupFiles: ['test/support/patterns.ts'],
    // Forks, not threads: a child's death signal is tied to the thread that spawned it.
    pool: 'forks',
    // Most tests wait for processes, not for a core.
    maxWorkers: 3,
    // No test mocks a module or keeps state in one, so that files may share a process: a third less work.
    isolate: false,
    testTimeout: 30_000,
    restoreMocks: true,
  },
});
