import type { Effect } from '../../src/domain/effects.js';
import type { OrchestratorEvent, ReadResult } from '../../src/domain/events.js';
import type { Outcome } from '../../src/domain/outcome.js';

/** An event and its effects in one line. */
export function describeEvent(event: OrchestratorEvent, effects: readonly Effect[]): string {
  let line = describe(event);
  for (const effect of effects) if (effect.type !== 'note') line += ` → ${order(effect)}`;
  return line;
}

function describe(event: OrchestratorEvent): string {
  switch (event.type) {
    case 'observed': {
      const { seq, refresh, candidates } = event.observation;
      return `observed ${seq} refresh ${read(refresh)} candidates ${read(candidates)}`;
    }
    case 'issues_read':
      return `issues_read ${event.seq} ${read(event.result)}`;
    case 'persisted':
    case 'persist_failed':
      return `${event.type} ${event.seq}`;
    case 'run_signalled':
      return `${event.runId} says ${event.signal.type}${event.signal.type === 'phase' ? ` ${event.signal.phase}` : ''}`;
    case 'run_exited':
      return `${event.runId} exited ${outcome(event.outcome)}`;
    case 'run_unkillable':
      return `${event.runId} unkillable`;
    case 'workspace_removed':
      return `workspace_removed ${event.issueId} ${event.report.ok ? 'ok' : 'failed'}`;
    case 'stop_requested':
    case 'retry_requested':
    case 'message_given':
    case 'answer_given':
      return `${event.type} ${event.issueId}`;
    case 'clock_set_back':
      return `clock_set_back by ${event.byMs}`;
    default:
      return event.type;
  }
}

function order(effect: Effect): string {
  switch (effect.type) {
    case 'poll':
    case 'read_issues':
      return `${effect.type} ${effect.seq} [${effect.ids.join(' ')}]`;
    case 'persist': {
      const claims = Object.entries(effect.change.claims).map(([id, claim]) => `${id}:${claim?.status.kind ?? 'none'}`);
      return `persist ${effect.seq}${effect.change.full ? ' full' : ''} [${claims.join(' ')}]`;
    }
    case 'start_run':
      return `start_run ${effect.order.runId} ${effect.order.issue.id} #${effect.order.number} ${effect.order.reason}`;
    case 'stop_run':
      return `stop_run ${effect.runId} ${effect.reason}`;
    case 'remove_workspace':
      return `remove_workspace ${effect.issue.id}`;
    default:
      return effect.type;
  }
}

function read(result: ReadResult): string {
  if (!result.ok) return result.code;
  const unknown = result.unknown.length === 0 ? '' : ` unknown ${result.unknown.join(' ')}`;
  return `[${result.issues.map(({ id, state }) => `${id}:${state}`).join(' ')}${unknown}]`;
}

function outcome(one: Outcome): string {
  return one.state === 'success' ? 'success' : one.error.code;
}
