import { refusal } from '../api/refusal.js';
import { bodyOf, type Route } from '../api/routes.js';
import { allowRequestShape } from '../api/schemas.js';

/** For `baton allow`. Over the socket only: a page must not decide what runs. */
export function allowRoute(allow: (hash: string) => Promise<boolean>): Route {
  return {
    method: 'POST',
    path: '/api/v1/allow',
    answer: async (c) => {
      const body = await bodyOf(c, allowRequestShape);
      if ('refused' in body) return body.refused;
      if (await allow(body.value.hash)) return { status: 200, body: { accepted: true, message: ALLOWED } };
      return refusal(409, 'workflow_not_allowed', CHANGED_MEANWHILE);
    },
  };
}

const ALLOWED = 'The changes are in effect for everything that starts next.';
const CHANGED_MEANWHILE =
  'WORKFLOW.md or code that it runs has changed since it was shown, so nothing was allowed. Look at it again.';
