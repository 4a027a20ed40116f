import { z } from 'zod';
import type { CapabilityListing } from '../../status/capability-listing.js';
import type { DaemonClient } from '../client.js';

/** Folders may be many, and on a slow disk. */
const LIMIT_MS = 30_000;

const common = { name: z.string(), version: z.string(), description: z.string(), source: z.string(), dir: z.string() };
const listing = z.object({
  executors: z.array(
    z.object({ ...common, types: z.array(z.string()), entry: z.string(), entry_missing: z.boolean() }),
  ),
  capabilities: z.array(
    z.object({
      ...common,
      type: z.string(),
      executor: z.string().nullable(),
      inputs: z.array(z.object({ name: z.string(), type: z.string(), required: z.boolean() })),
    }),
  ),
  problems: z.array(z.object({ level: z.enum(['error', 'warning']), text: z.string() })),
});

/** `POST /api/capability/refresh`. Throws as the client does. */
export function askRefresh(client: DaemonClient): Promise<CapabilityListing> {
  return client.post('/api/capability/refresh', {}, listing, LIMIT_MS);
}
