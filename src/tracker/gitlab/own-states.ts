import type { OwnStates } from '../label-states.js';

export const OPENED = 'opened';
export const CLOSED = 'closed';

export const OWN_STATES: OwnStates = { tracker: 'GitLab', open: OPENED, closed: CLOSED };
