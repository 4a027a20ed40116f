import type { HttpReading, HttpRequest } from './http/tracker-http.js';
import { MAX_ANSWER_BYTES, type RawResult } from './raw-tool.js';

/** Refusals that the agent reads. A redirect is one of them: it would lead out of the repository. */
const AGENT_STATUSES = [301, 302, 303, 307, 308, 400, 404, 405, 409, 410, 412, 415, 422];

/** Sends a call of a raw tool. */
export async function sendRest(
  reading: HttpReading,
  { method, path, body: given }: Required<Pick<HttpRequest, 'method' | 'path' | 'body'>>,
): Promise<RawResult> {
  const { status, body } = await reading.ask({
    ...{ method, path, accept: AGENT_STATUSES, maxBytes: MAX_ANSWER_BYTES },
    ...(given === undefined || given === null ? {} : { body: given }),
  });
  return { ok: status < 300, body, status };
}
