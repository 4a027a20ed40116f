import { z } from 'zod';
import { LISTS } from '../../api/schemas.js';

/** Not `z.record`, which drops `__proto__`: an agent may call a field so. */
const texts = z.custom<{ readonly [field: string]: string }>(
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((text) => typeof text === 'string'),
  'must be a map of texts',
);

/** `POST /api/v1/<identifier>/answer`. `question_id` may be left out while only one question is open. */
export const answerRequestShape = z.union(
  [
    z.strictObject({ question_id: z.string().optional(), decision: z.enum(['accept', 'decline']) }),
    z.strictObject({ question_id: z.string().optional(), values: texts }),
  ],
  { error: 'must be {"decision": "accept"}, {"decision": "decline"} or {"values": {"<field id>": "<answer>"}}' },
);

/** `POST /api/v1/<identifier>/message`. */
export const messageRequestShape = z.strictObject({ text: z.string().trim().min(1).max(20_000) });

/** What every accepted change answers. */
export const acceptedShape = z.strictObject({
  accepted: z.literal(true),
  /** What comes of it, for a person. */
  message: z.string(),
});

/** `POST /api/v1/refresh`: 202. */
export const refreshShape = z.strictObject({
  queued: z.literal(true),
  /** A reading was already under way or asked for: this one goes along with the next. */
  coalesced: z.boolean(),
  requested_at: z.string().nullable(),
  operations: z.array(z.string()),
});

/** `GET /api/v1/page`, over the socket only. `url: null`: the daemon has no port, and so no page. */
export const pageShape = z.strictObject({ url: z.string().nullable(), token: z.string() });

export const errorShape = z.strictObject({ error: z.strictObject({ code: z.string(), message: z.string() }) });

/**
 * The event `patch` of the stream: what has become of the state since the event before. `set`: members that are another now. `lists`: for
 * each list that changed, the entries that are new or other, and the whole order of ids (`null`: as before).
 */
export const patchShape = z.strictObject({
  generated_at: z.string().nullable(),
  set: z.record(z.string(), z.json()),
  lists: z.partialRecord(
    z.enum(LISTS),
    z.strictObject({ order: z.array(z.string()).nullable(), upsert: z.array(z.looseObject({ issue_id: z.string() })) }),
  ),
});

export type AnswerRequest = z.infer<typeof answerRequestShape>;
export type Patch = z.infer<typeof patchShape>;
