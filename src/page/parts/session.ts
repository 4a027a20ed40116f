import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { type ApiAccess, ApiError, postJson } from '../live/api.js';
import { Drafts } from '../model/drafts.js';

/** What every part of the page may need and nobody wants to hand down. */
export interface Session {
  readonly access: ApiAccess;
  /** Without a token the page only looks. */
  readonly canAct: boolean;
  readonly drafts: Drafts;
  /** Something was changed: whoever shows details should read them again. */
  readonly changes: number;
  /** Sends a change and answers what comes of it, for a person. Throws `ApiError`. */
  act(path: string, body?: object): Promise<string>;
}

export const SessionContext = createContext<Session>({
  access: { base: '', token: null },
  canAct: false,
  drafts: new Drafts(),
  changes: 0,
  act: () => Promise.reject(new ApiError(0, 'unreachable', 'The page has not started yet.')),
});

export function useSession(): Session {
  return useContext(SessionContext);
}

interface ChangeAnswer {
  readonly message?: unknown;
  /** Of a refresh. */
  readonly queued?: unknown;
  readonly coalesced?: unknown;
}

export async function sendChange(access: ApiAccess, path: string, body?: object): Promise<string> {
  const { message, queued, coalesced } = await postJson<ChangeAnswer>(access, path, body);
  if (typeof message === 'string') return message;
  if (queued !== true) return 'Done.';
  return coalesced === true ? 'A reading was under way; another follows it.' : 'The tracker is being read.';
}
