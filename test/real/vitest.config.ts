import { defineConfig } from 'vitest/config';

/** `npm run test:real`: the built product with the real Codex, the real Backlog.md and a real Redmine. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/real/**/*.test.ts'],
    globalSetup: ['test/real/global-setup.ts'],
    // Forks, not threads: a child's death signal is tied to the thread that spawned it.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 90_000,
    hookTimeout: 30_000,
  },
});
