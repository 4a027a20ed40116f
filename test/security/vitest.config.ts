import { configDefaults, defineConfig } from 'vitest/config';
import ordinary from '../vitest.config.js';

/** Everything about exploits and containment, also what takes long. Used by every-user.sh. */
export default defineConfig({
  test: {
    ...ordinary.test,
    include: ['test/security/*.test.ts', 'test/runner/contain/*.test.ts'],
    exclude: configDefaults.exclude,
    maxWorkers: 5,
  },
});
