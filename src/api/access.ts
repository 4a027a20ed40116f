import type { IncomingMessage } from 'node:http';
import { bearsToken } from '../status/bearer-token.js';
import type { Guard } from '../status/guard.js';

/** What a request may do: everything, look, or only what everybody may see (the page itself, health). */
export type Access = 'full' | 'read' | 'public';

/** Who asks, and what follows from it. A text: it is refused before anything is routed. */
export type Admit = (request: IncomingMessage) => { readonly access: Access } | { readonly refused: string };

/** Whoever can open the socket is the daemon's own user: its folder and its mode see to that. */
export const admitOwner: Admit = () => ({ access: 'full' });

/**
 * Over TCP names and origins are looked at first. Who shows the token may do everything. Without it a request may look, unless
 * the operator has set a token of their own: then it is asked for everything.
 */
export function admitByToken(guard: Guard, token: string, isAskedForReads: boolean): Admit {
  return (request) => {
    const refused = guard.refuse(request);
    if (refused !== null) return { refused };
    if (bearsToken(request.headers.authorization, token)) return { access: 'full' };
    return { access: isAskedForReads ? 'public' : 'read' };
  };
}
