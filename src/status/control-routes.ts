import type { z } from 'zod';
import type { State } from '../../orchestrator/state.js';
import type { Instant } from '../domain/clock.js';
import type { OrchestratorEvent } from '../domain/events.js';
import type { Dispatch } from '../domain/ports.js';
import { type Action, decideAction, refreshAnswer } from '../api/actions.js';
import { isoTime } from '../text/iso-time.js';
import { readJsonBody, refuseOtherType } from './read-json-body.js';
import { ISSUE_PATHS } from './read-routes.js';
import { type Answer, type Route, type RouteContext, refusal } from '../api/route.js';
import { answerRequestShape, messageRequestShape } from './shapes/request-shapes.js';

/** What can be asked of the daemon. */
export interface ControlSource {
  state(): State;
  now(): Instant;
  readonly dispatch: Dispatch;
  /** Settles once everything so far is stored; `false`: it could not be. */
  stored(): Promise<boolean>;
}

/** What people ask for. Each is looked at against the state of this moment, and what makes no sense is refused with its reason. */
export function controlRoutes(source: ControlSource): readonly Route[] {
  const changes = (path: string, answer: Route['answer']): Route => ({ method: 'POST', path, answer });
  const accept = async (event: OrchestratorEvent, message: string): Promise<Answer> => {
    source.dispatch(event);
    const isSafe = await source.stored();
    return { status: 202, body: { accepted: true, message: isSafe ? message : `${message} ${NOT_SAFE}` } };
  };
  const act = (c: RouteContext, action: Action): Answer | Promise<Answer> => {
    const decided = decideAction(source.state(), c.req.param('identifier') ?? '', action);
    return 'event' in decided
      ? accept(decided.event, decided.message)
      : refusal(decided.status, decided.code, decided.message);
  };
  return [
    changes('/api/v1/refresh', (c) => {
      const answer = refreshAnswer(source.state(), source.now());
      const refused = otherType(c);
      if (refused === null) source.dispatch({ type: 'refresh_requested' });
      return refused ?? { status: 202, body: { ...answer, requested_at: isoTime(source.now().wallMs) } };
    }),
    changes('/api/v1/pause', (c) => otherType(c) ?? accept({ type: 'pause_requested' }, PAUSED)),
    changes('/api/v1/resume', (c) => otherType(c) ?? accept({ type: 'resume_requested' }, RESUMED)),
    ...ISSUE_PATHS.flatMap((path) => [
      changes(`${path}/stop`, (c) => otherType(c) ?? act(c, { kind: 'stop' })),
      changes(`${path}/retry`, (c) => otherType(c) ?? act(c, { kind: 'retry' })),
      changes(`${path}/answer`, async (c) => {
        const body = await bodyOf(c, answerRequestShape);
        return 'refused' in body ? body.refused : act(c, { kind: 'answer', request: body.value });
      }),
      changes(`${path}/message`, async (c) => {
        const body = await bodyOf(c, messageRequestShape);
        return 'refused' in body ? body.refused : act(c, { kind: 'message', text: body.value.text });
      }),
    ]),
  ];
}

const PAUSED = 'Nothing new is started until you resume; what runs goes on.';
const RESUMED = 'New work is started again.';
const NOT_SAFE = 'It could not be stored yet: should Baton be killed before it can be, it is forgotten.';

async function bodyOf<T>(c: RouteContext, shape: z.ZodType<T>): Promise<{ value: T } | { refused: Answer }> {
  const body = await readJsonBody(c.env.incoming, c.env.outgoing);
  if ('refused' in body) return body;
  const parsed = shape.safeParse(body.value);
  if (parsed.success) return { value: parsed.data };
  const [first] = parsed.error.issues;
  const where = first?.path.length ? `${first.path.join('.')}: ` : '';
  return {
    refused: refusal(400, 'INVALID_REQUEST', `The body is not usable: ${where}${first?.message ?? 'unknown'}.`),
  };
}

function otherType(c: RouteContext): Answer | null {
  return refuseOtherType(c.env.incoming);
}
