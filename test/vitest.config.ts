import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    // Forks, not threads: a child's death signal is tied to the thread that spawned it.
    pool: 'forks',
    // Most tests wait for processes, not for a core.
    maxWorkers: 3,
    testTimeout: 30_000,
    restoreMocks: true,
  },
});
