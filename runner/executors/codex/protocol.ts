import type { Fields } from '../../../src/domain/fields.js';

/**
 * The part of the app-server protocol that we use (shapes of `codex app-server generate-ts`, 0.166.0). What the agent sends is
 * read through `src/domain/fields.ts`: it may be anything.
 */
export const CALLS = {
  initialize: 'initialize',
  threadStart: 'thread/start',
  threadResume: 'thread/resume',
  threadName: 'thread/name/set',
  turnStart: 'turn/start',
  turnSteer: 'turn/steer',
  turnInterrupt: 'turn/interrupt',
} as const;

export const INITIALIZED = 'initialized';

export const REQUESTS = {
  commandApproval: 'item/commandExecution/requestApproval',
  fileApproval: 'item/fileChange/requestApproval',
  permissionsApproval: 'item/permissions/requestApproval',
  elicitation: 'mcpServer/elicitation/request',
  userInput: 'item/tool/requestUserInput',
  toolCall: 'item/tool/call',
} as const;

export const NOTICES = {
  turnStarted: 'turn/started',
  turnCompleted: 'turn/completed',
  itemStarted: 'item/started',
  itemCompleted: 'item/completed',
  error: 'error',
  requestResolved: 'serverRequest/resolved',
  tokenUsage: 'thread/tokenUsage/updated',
  diff: 'turn/diff/updated',
  rateLimits: 'account/rateLimits/updated',
} as const;

export function textInput(text: string): readonly Fields[] {
  return [{ type: 'text', text, text_elements: [] }];
}
