import type { OrchestratorEvent } from '../domain/events.js';
import type { Issue } from '../domain/issue.js';
import { shellWord } from '../domain/shell-word.js';

/** What comes of a request of a person: an event for the core, or the reason why there is none. `message`: sentences for them. */
export type ActionResult = { readonly event: OrchestratorEvent; readonly message: string } | ActionRefusal;

export interface ActionRefusal {
  readonly status: 400 | 404 | 409;
  readonly code: string;
  readonly message: string;
}

export function accept(event: OrchestratorEvent, message: string): ActionResult {
  return { event, message };
}

/** It is not the time for it. */
export function refuse(code: string, message: string): ActionRefusal {
  return { status: 409, code, message };
}

/** As a person types it. */
export function commandOn(name: 'answer' | 'explain' | 'retry', { identifier }: Issue): string {
  return `\`baton ${name} ${shellWord(identifier)}\``;
}
