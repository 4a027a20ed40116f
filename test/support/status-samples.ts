import type { StatusSource } from '../../src/api/routes.js';
import type { StateView } from '../../src/api/schemas.js';
import { type Surroundings, snapshotOf, workflowFacts } from '../../src/api/snapshot.js';
import { StateStream } from '../../src/api/stream.js';
import { NO_TOTALS } from '../../src/api/totals.js';
import { workflow } from './builders.js';
import { Core } from './core.js';

export const FILE = { loadedAtMs: 0, error: null, held: null, waitingKeys: [], waitingError: null };

export function surroundings(part: Partial<Surroundings> = {}): Surroundings {
  return {
    daemon: { version: '1.2.3', pid: 7, startedAtMs: 0, stateDir: '/state', isolation: 'pidns' },
    workflow: workflowFacts(workflow(), FILE),
    totals: NO_TOTALS,
    rateLimits: null,
    seen: () => ({
      lastEvent: 'item/completed',
      lastMessage: 'ran `npm test`, exit 0',
      lastMessageEvent: 'item/completed',
    }),
    ...part,
  };
}

export function viewOf(core: Core, part: Partial<Surroundings> = {}): StateView {
  return snapshotOf(core.state, core.now, surroundings(part));
}

/** One issue of every kind, so that no list is empty. */
export function everything(): Core {
  const core = new Core({ agent: { maxConcurrentAgents: 6 } });
  core.put('A', 'B', 'C', 'D', 'E', 'F', 'H', { id: 'G', blocked_by: [{ id: 'A', identifier: 'A', state: 'Todo' }] });
  core.rateLimit = { remaining: 100, resetAtMs: core.now.wallMs + 60_000 };
  core.poll();
  const question = {
    id: 'q',
    kind: 'input',
    text: '?',
    fields: [{ id: 'f', label: 'l', options: ['a', 'b'] }],
  } as const;
  core.signal('B', { type: 'asked', question });
  core.fail('C', 'turn_input_required', { question });
  core.exit('F');
  core.change('F', { state: 'Done' });
  core.poll();
  core.fail('D', 'agent_unauthorized');
  core.fail('E');
  core.send({ type: 'pause_requested' });
  return core;
}

/** The data source of the routes, over a core that the test controls. */
export function statusSource(core: Core, part: Partial<StatusSource> = {}): StatusSource {
  const snapshot = () => viewOf(core);
  const clean = (json: string) => json;
  return {
    stateText: () => `${JSON.stringify(snapshot())}\n`,
    issue: async () => null,
    timeline: async () => null,
    transcript: async () => null,
    stats: async () => ({ days: [] }),
    stream: new StateStream({ snapshot, clean, timeline: () => null }),
    metrics: async () => ({ text: '', type: 'text/plain' }),
    notReady: () => null,
    control: {
      state: () => core.state,
      now: () => core.now,
      dispatch: (event) => void core.send(event),
      waitUntilPersisted: async () => true,
    },
    capabilities: null,
    page: new Map(),
    clean,
    onError: (error) => {
      throw error;
    },
    ...part,
  };
}
