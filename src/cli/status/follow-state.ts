import type { z } from 'zod';
import { applyPatch } from '../../api/patch.js';
import { patchShape } from '../../status/shapes/request-shapes.js';
import { type StateView, stateShape } from '../../api/schemas.js';
import { badAnswer } from '../client/api-error.js';
import type { StreamEvent } from '../client/event-stream.js';

/** The state after an event of the stream; events that tell nothing of it leave it as it is. Throws `ApiError`. */
export function nextState(view: StateView | null, { event, data }: StreamEvent): StateView | null {
  if (event === 'state') return read(stateShape, data);
  // Without a state before it there is nothing to patch; it comes with the next connection.
  if (event === 'patch' && view !== null) return applyPatch(view, read(patchShape, data));
  return view;
}

function read<T>(shape: z.ZodType<T>, data: unknown): T {
  const found = shape.safeParse(data);
  if (found.success) return found.data;
  throw badAnswer('the daemon sent something that this version of Baton does not know', found.error);
}
