import type { OwnStates } from '../label-states.js';

export const OPEN = 'open';
export const CLOSED = 'closed';

export const OWN_STATES: OwnStates = { tracker: 'GitHub', open: OPEN, closed: CLOSED };
