import { z } from 'zod';
import { fieldsOf } from '../../domain/fields.js';
import type { CapabilityListing } from '../../status/capability-listing.js';

const LIMIT_MS = 30_000;
const MAX_BYTES = 8 * 1024 * 1024;

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

/** `POST /api/capability/refresh`. Throws `Error` with the reason of the daemon, or why it gave none. */
export async function askRefresh(url: string, token: string): Promise<CapabilityListing> {
  const response = await fetch(`${url}/api/capability/refresh`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    redirect: 'error',
    signal: AbortSignal.timeout(LIMIT_MS),
  }).catch((error: Error) => {
    const { message } = fieldsOf(error.cause);
    throw new Error(typeof message === 'string' && message !== '' ? message : error.message, { cause: error });
  });
  const answer = parsed(await boundedText(response));
  const found = listing.safeParse(answer);
  if (response.ok && found.success) return found.data;
  const { message } = fieldsOf(fieldsOf(answer).error);
  throw new Error(typeof message === 'string' ? message : `it answered ${response.status} with something else`);
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error(`it answered with more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
