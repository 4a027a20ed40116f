import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    // These need the real Codex (`npm run test:real`) or a browser (`npm run test:page`).
    exclude: [...configDefaults.exclude, 'test/real/**', 'test/page/**'],
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
