import { fileURLToPath } from 'node:url';

/** The compiled modules of the last `npm run build`, for tests that load them in another process. */
export const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
