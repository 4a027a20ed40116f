import { defineConfig } from 'vitest/config';

/** `npm run test:page`: the built page in a real Chromium. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/page/*.test.ts'],
    // Forks, not threads: a child's death signal is tied to the thread that spawned it.
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
