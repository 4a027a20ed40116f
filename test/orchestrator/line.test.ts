import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pick, readyList } from '../../orchestrator/select.js';
import { SlotCounter } from '../../orchestrator/slots.js';
import type { Issue } from '../../src/domain/issue.js';
import { config } from '../support/builders.js';
import { Core, started } from '../support/core.js';

const IDS = ['A', 'B', 'C', 'D', 'E', 'F', '7', '12'];
const LIMITS = { agent: { maxConcurrentAgents: 2, maxConcurrentAgentsByState: { todo: 1 } } };
const SETTINGS = [LIMITS, { ...LIMITS, tracker: { requiredLabels: ['baton'] } }];

/** What the free slots get when the whole list is looked at. */
function headOfAll(core: Core): string[] {
  const slots = new SlotCounter(core.state);
  return readyList(core.state, core.now)
    .filter(({ issue }) => slots.take(issue.state))
    .map(({ issue }) => issue.id);
}

function step(core: Core, kind: number, id: string, n: number): void {
  const changes: Partial<Issue>[] = [
    { priority: n % 5 },
    { created_at: `2026-01-0${1 + (n % 9)}T00:00:00.000Z` },
    { state: ['Todo', 'In Progress', 'Done', 'Backlog'][n % 4] ?? '' },
    { labels: n % 2 === 0 ? ['baton'] : [] },
    { dispatchable: n % 2 === 0 },
  ];
  switch (kind) {
    case 0:
      return void core.put(id);
    case 1:
      return void (core.board.has(id) && core.change(id, changes[n % changes.length] ?? {}));
    case 2:
      return void core.poll();
    case 3:
      return void core.answerReads();
    case 4:
      return void (Object.values(core.state.runs).includes(id) && core.exit(id));
    case 5:
      return void core.send({ type: 'config_changed', config: config(SETTINGS[n % 2] ?? {}), workflowHash: `${n}` });
    default:
      core.advance(n * 1_000);
  }
}

test('what is taken from the line is the head of the whole list, whatever happened since the line was made', () => {
  const history = fc.array(fc.tuple(fc.nat({ max: 6 }), fc.constantFrom(...IDS), fc.nat({ max: 40 })), {
    minLength: 10,
    maxLength: 80,
  });
  fc.assert(
    fc.property(history, (steps) => {
      const core = new Core(SETTINGS[0]).put(...IDS);
      core.poll();
      for (const [kind, id, n] of steps) {
        step(core, kind, id, n);
        expect(pick(core.state, core.now).map(({ issue }) => issue.id)).toEqual(headOfAll(core));
      }
    }),
    { numRuns: 200 },
  );
});

test('an issue that has become less urgent when it is read before its start leaves the slot to the next one', () => {
  const core = new Core({ agent: { maxConcurrentAgents: 1 } });
  core.put({ id: 'A', priority: 1 }, { id: 'B', priority: 2 }, { id: 'C', priority: 3 });
  core.poll();
  core.change('B', { priority: 4 });
  core.exit('A');

  expect(core.state.read).not.toBeNull();
  core.answerRead();
  expect(started(core.answerRead())).toEqual(['C']);
});
