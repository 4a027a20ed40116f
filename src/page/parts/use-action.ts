import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../live/api.js';
import { useSession } from './session.js';

export type ActionState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'busy' }
  | { readonly kind: 'done'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string };

const IDLE: ActionState = { kind: 'idle' };
/** Long enough to be read; an error stays until something else is tried. */
export const READ_MS = 10_000;

/**
 * A change that a person asks for: sent once at a time, with its result or its error to show beside the button. `forgetsAfterMs`: a good
 * result is old news then; `null`: it stays.
 */
export function useAction(
  forgetsAfterMs: number | null = null,
): [ActionState, (path: string, body?: object) => Promise<boolean>, () => void] {
  const { act } = useSession();
  const [state, setState] = useState<ActionState>(IDLE);
  useEffect(() => {
    if (state.kind !== 'done' || forgetsAfterMs === null) return;
    const timer = setTimeout(() => setState(IDLE), forgetsAfterMs);
    return () => clearTimeout(timer);
  }, [state, forgetsAfterMs]);
  const isBusy = useRef(false);
  const isGone = useRef(false);
  useEffect(
    () => () => {
      isGone.current = true;
    },
    [],
  );
  const send = async (path: string, body?: object) => {
    if (isBusy.current) return false;
    isBusy.current = true;
    setState({ kind: 'busy' });
    const end = await act(path, body).then(
      (message): ActionState => ({ kind: 'done', message }),
      (error): ActionState => ({ kind: 'failed', message: error instanceof ApiError ? error.message : String(error) }),
    );
    isBusy.current = false;
    if (!isGone.current) setState(end);
    return end.kind === 'done';
  };
  return [state, send, () => setState(IDLE)];
}
