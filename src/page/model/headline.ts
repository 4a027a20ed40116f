import type { StateView } from '../../api/schemas.js';
import { needsOf } from './needs-you.js';
import { counted } from './numbers.js';

/** The one sentence at the top: what is going on, and when nothing is, why. */
export function headlineOf(state: StateView): string {
  if (state.shutting_down) return 'Baton is shutting down: it ends as soon as its runs have.';
  if (state.why_idle !== null) return state.why_idle;
  const needs = needsOf(state).length;
  const working = state.running.filter(({ asking }) => !asking).length;
  if (working > 0) return needs > 0 ? `${needing(needs)}; ${others(working)} at work.` : `${capital(atWork(working))}.`;
  if (needs > 0) return `${needing(needs)}.`;
  const next = state.ready.find(({ why }) => why === null);
  return next ? `${next.issue_identifier} is about to start.` : 'Nothing is going on right now.';
}

function needing(count: number): string {
  return `${counted(count, 'issue')} ${count === 1 ? 'needs' : 'need'} you`;
}

function others(count: number): string {
  return `${count} ${count === 1 ? 'other is' : 'others are'}`;
}

function atWork(count: number): string {
  return count === 1 ? 'one issue is at work' : `${counted(count, 'issue')} are at work`;
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
