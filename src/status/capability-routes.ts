import { toBatonError } from '../domain/errors.js';
import type { Json } from '../domain/json.js';
import { readJsonBody, refuseOtherType } from './read-json-body.js';
import { type Answer, type Route, type RouteContext, refusal } from '../api/route.js';

/** What `/api/capability/…` asks the daemon. */
export interface CapabilitySource {
  /** What is at work now. */
  stats(): Json;
  /** Looks into the folders again, and says what there is. */
  refresh(): Promise<Json>;
  /** Makes the folder of an executor from what somebody sent. Throws `BatonError`: `INVALID_REQUEST` when that is no good. */
  create(request: unknown): Promise<Json>;
}

export function capabilityRoutes(source: CapabilitySource): readonly Route[] {
  return [
    { method: 'GET', path: `${BASE}/stats`, answer: () => ({ status: 200, body: source.stats() }) },
    {
      method: 'POST',
      path: `${BASE}/refresh`,
      answer: async (c) => refuseOtherType(c.env.incoming) ?? { status: 200, body: await source.refresh() },
    },
    { method: 'POST', path: `${BASE}/executors/create`, answer: (c) => create(c, source) },
    {
      method: 'POST',
      path: `${BASE}/download-executor`,
      answer: (c) => refuseOtherType(c.env.incoming) ?? NO_MARKETPLACE,
    },
  ];
}

const BASE = '/api/capability';

const NO_MARKETPLACE = refusal(
  501,
  'not_available',
  'Baton has no marketplace to download executors from. Copy the folder of the executor to .baton/capabilities/executors/ beside WORKFLOW.md, and refresh.',
);

async function create(c: RouteContext, source: CapabilitySource): Promise<Answer> {
  const body = await readJsonBody(c.env.incoming, c.env.outgoing);
  if ('refused' in body) return body.refused;
  try {
    return { status: 201, body: await source.create(body.value) };
  } catch (error) {
    const { code, message } = toBatonError(error);
    if (code !== 'INVALID_REQUEST') throw error;
    return refusal(400, code, message);
  }
}
