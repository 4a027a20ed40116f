// The real core with a board and a runner that answer at once: it measures only what a run makes the daemon store.
import { Loop } from '../../dist/orchestrator/loop.js';
import { createPerform } from '../../dist/orchestrator/perform.js';
import { initialState } from '../../dist/orchestrator/state.js';
import { OpenRuns } from '../../dist/runner/open-runs.js';
import { historyEvent } from '../../dist/src/domain/note.js';
import { success } from '../../dist/src/domain/outcome.js';
import { normaliseIssue } from '../../dist/src/tracker/normalise-issue.js';
import { parseWorkflow } from '../../dist/src/workflow/load-workflow.js';

const SLOTS = 10;
/** An agent reports its tokens after every model answer. */
const ANSWERS = 20;
const STATES = { activeStates: ['Todo'], terminalStates: ['Done'] };
const SETTINGS = `---
tracker: { kind: board }
workspace: { root: /nowhere, min_free_mb: 0 }
polling: { interval_ms: 1000 }
agent: { max_concurrent_agents: ${SLOTS} }
---
`;

export class InstantWork {
  #issues = new Map();
  #left;
  #finish = () => {};

  constructor(store, clock, runs) {
    this.store = store;
    this.clock = clock;
    this.#left = runs;
    const options = { store: store.openRuns, daemonMarker: 'bench', bootId: 'bench', onError: console.error };
    this.openRuns = new OpenRuns(options, []);
    for (let n = 1; n <= runs; n++) {
      const description = 'What is to be done, in a few sentences. '.repeat(10);
      const raw = { id: `id-${n}`, identifier: `TASK-${n}`, title: `Number ${n}`, state: 'Todo', description };
      this.#issues.set(raw.id, normaliseIssue(raw));
    }
  }

  /** Settles when every issue has had its run and its workspace is removed. */
  async done() {
    const file = { path: '/nowhere/WORKFLOW.md', bytes: Buffer.from(SETTINGS), hash: 'bench' };
    const options = { env: {}, homeDir: '/nowhere', trackerKinds: new Map([['board', STATES]]) };
    const { workflow } = await parseWorkflow(file, options);
    const finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
    const perform = createPerform(this.#ports(workflow), (event) => this.loop.dispatch(event));
    this.loop = new Loop({
      initial: initialState(workflow.config, workflow.hash, 'bench', this.clock.now().wallMs),
      clock: this.clock,
      perform,
      onFault: (error) => {
        throw error;
      },
    });
    this.loop.dispatch({ type: 'started', leftovers: [] });
    await finished;
    this.loop.close();
  }

  #ports(workflow) {
    const open = () => [...this.#issues.values()].filter(({ state }) => state === 'Todo').slice(0, 2 * SLOTS);
    return {
      clock: this.clock,
      store: this.store,
      tracker: {
        issuesByStates: async () => ({ issues: open(), unknown: [] }),
        issuesByIds: async (ids) => ({ issues: ids.map((id) => this.#issues.get(id)), unknown: [] }),
      },
      runner: {
        start: (order) => void this.#run(order),
        removeWorkspace: (issue) => this.#remove(issue),
        freeDiskMb: async () => 1_000_000,
      },
      workflow: () => workflow,
      checkWorkflow: async () => {},
      log: (note) => {
        if (note.level !== 'debug') this.store.addEvent(historyEvent(note, this.clock.now().wallMs));
      },
      exit: () => {},
    };
  }

  /** As runner/run-attempt.ts carries one through: a new workspace, three hooks, an agent that moves its issue. */
  async #run({ runId, issue }) {
    const tell = (signal) => this.loop.dispatch({ type: 'run_signalled', runId, signal });
    const spawned = (pid) => this.openRuns.started(runId, [{ pid, startTime: '1' }]);
    this.openRuns.begin(runId, issue.id);
    tell({ type: 'phase', phase: 'preparing' });
    spawned(1);
    await this.openRuns.afterRunDue(runId, issue.identifier);
    spawned(2);
    tell({ type: 'phase', phase: 'agent' });
    spawned(3);
    const threadId = `thread-${issue.id}`;
    tell({ type: 'session', threadId, turnId: 'turn-1', turn: 1 });
    for (let answer = 1; answer <= ANSWERS; answer++) {
      await new Promise(setImmediate);
      tell({ type: 'progress', openItems: 0 });
      tell({
        type: 'usage',
        threadId,
        totals: { input: 5_000 * answer, cached: 4_000 * answer, output: 100 * answer },
      });
    }
    this.#issues.set(issue.id, { ...issue, state: 'Done' });
    tell({ type: 'moved_issue', state: 'Done' });
    tell({ type: 'phase', phase: 'finishing' });
    spawned(4);
    await this.openRuns.afterRunEnded(runId);
    await this.openRuns.end(runId);
    this.loop.dispatch({ type: 'run_exited', runId, outcome: success(null, { threadId, turns: 1 }) });
  }

  async #remove(issue) {
    const marker = `remove-${issue.id}`;
    this.openRuns.begin(marker, issue.id);
    this.openRuns.started(marker, [{ pid: 5, startTime: '1' }]);
    await this.openRuns.end(marker);
    this.#left -= 1;
    // After the result is stored, too.
    if (this.#left === 0) setTimeout(this.#finish, 100);
    return { ok: true };
  }
}
