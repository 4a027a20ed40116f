import { Loop } from '../../dist/orchestrator/loop.js';
import { createPerform } from '../../dist/orchestrator/perform.js';
import { initialState } from '../../dist/orchestrator/state.js';
import { createClock } from '../../dist/src/clock.js';
import { ADAPTERS } from '../../dist/src/tracker/adapters.js';
import { parseWorkflow } from '../../dist/src/workflow/load-workflow.js';
import { BOARDS } from './tracker-boards.mjs';

/** The real loop on a real adapter. Ten issues start at once and their agents do nothing. */
export class PolledBoard {
  #seen = [];
  #onObserved = () => {};

  static async open(kind, url, count) {
    const board = new PolledBoard();
    await board.#open(kind, url, count);
    return board;
  }

  async #open(kind, url, count) {
    const { provider, variables, states, path = '' } = BOARDS[kind](count);
    const entry = ADAPTERS.find((one) => one.kind === kind);
    const settings = {
      tracker: {
        kind,
        provider: { ...provider, endpoint: `${url}${path}` },
        active_states: states,
        required_labels: ['baton'],
      },
      workspace: { root: '/nowhere', min_free_mb: 0 },
      polling: { interval_ms: 3_600_000 },
    };
    const text = `---\n${JSON.stringify(settings)}\n---\n`;
    const file = { path: '/nowhere/WORKFLOW.md', bytes: Buffer.from(text), hash: 'bench' };
    const { workflow } = await parseWorkflow(file, {
      env: variables,
      homeDir: '/nowhere',
      trackerKinds: new Map([[kind, entry.defaults]]),
    });
    this.clock = createClock();
    this.tracker = await entry.create({
      ...{ config: workflow.config.tracker, settings: () => workflow.config.tracker, env: variables, dir: '/nowhere' },
      secret: (name) => variables[name] ?? null,
      mask: (said) => said,
      nowMs: () => performance.now(),
      start: () => Promise.reject(new Error('nothing is started here')),
    });
    this.loop = new Loop({
      initial: initialState(workflow.config, workflow.hash, 'bench', this.clock.now().wallMs),
      clock: this.clock,
      perform: createPerform(this.#ports(workflow), (event) => this.loop.dispatch(event)),
      onDecided: ({ type }) => type === 'observed' && this.#onObserved(),
      onFault: (error) => {
        throw error;
      },
    });
    this.kind = kind;
    this.count = count;
  }

  /** The first time the board is read and ten issues start. */
  async poll() {
    const done = new Promise((resolve) => {
      this.#onObserved = resolve;
    });
    const { candidatesSeq } = this.loop.state;
    this.loop.dispatch(candidatesSeq === 0 ? { type: 'started', leftovers: [] } : { type: 'refresh_requested' });
    await done;
    const { poll, candidates, claims } = this.loop.state;
    const known = Object.keys(candidates).length + Object.keys(claims).length;
    if (poll.failure !== null || poll.problems.length > 0 || known !== this.count)
      throw new Error(
        `${this.kind}: ${known} issues, ${poll.failure?.message ?? poll.problems[0] ?? 'no problem told'}`,
      );
  }

  async close() {
    this.loop.close();
    this.clock.close();
    await this.tracker.close();
  }

  #ports(workflow) {
    return {
      clock: this.clock,
      // What is stored does not depend on the tracker.
      store: { write: async () => {} },
      tracker: {
        issuesByStates: async (states, signal) => {
          const batch = await this.tracker.issuesByStates(states, signal);
          this.#seen = batch.issues;
          return batch;
        },
        // The ten active runs are not measured here.
        issuesByIds: async (ids) => ({ issues: this.#seen.filter(({ id }) => ids.includes(id)), unknown: [] }),
      },
      runner: { start: () => {}, freeDiskMb: async () => 1_000_000 },
      workflow: () => workflow,
      checkWorkflow: async () => {},
      log: () => {},
      exit: () => {},
    };
  }
}
