import fc from 'fast-check';
import type { Config } from '../../src/domain/config.js';
import type { ErrorCode } from '../../src/domain/errors.js';
import { failure, success } from '../../src/domain/outcome.js';
import type { Question } from '../../src/domain/run-signal.js';
import type { DeepPartial } from '../support/builders.js';
import { Core } from '../support/core.js';

/** Histories of the core, for laws about what is told of it. A step is three numbers; of them is made whatever is possible at that moment. */
export type Step = readonly [kind: number, a: number, b: number];

const IDS = ['A', 'B', 'C', 'D', 'E', 'F'];
const STATES = ['Todo', 'In Progress', 'Backlog', 'Done'];
const CODES: ErrorCode[] = [
  'turn_failed',
  'agent_quota',
  'agent_unauthorized',
  'turn_input_required',
  'template_parse_error',
  'issue_taken',
];
const DOWN = { ok: false, code: 'tracker_request', message: 'down' } as const;
const LIMITED = { ok: false, code: 'tracker_rate_limited', message: 'too many' } as const;

const SETTINGS: DeepPartial<Config> = {
  tracker: { requiredLabels: ['baton'] },
  agent: {
    maxConcurrentAgents: 2,
    maxAttempts: 3,
    maxRunsWithoutProgress: 2,
    maxTokensPerIssue: 5_000,
    maxTokensPerDay: 20_000,
    maxConcurrentAgentsByState: { todo: 1 },
  },
};

export const history = fc.array(fc.tuple(fc.nat({ max: 20 }), fc.nat({ max: 5 }), fc.nat({ max: 500 })), {
  minLength: 5,
  maxLength: 80,
});

/** Plays a history. `look` is shown the core after each step, when whatever was due has been done. */
export function play(steps: readonly Step[], look: (core: Core) => void): void {
  const core = new Core(SETTINGS);
  core.put(...IDS.map((id) => ({ id, labels: ['baton'] })));
  core.begin();
  core.answerPoll();
  for (const step of steps) {
    act(core, step);
    core.tick();
    look(core);
  }
}

function act(core: Core, [kind, a, b]: Step): void {
  const { state } = core;
  const id = IDS[a % IDS.length] ?? 'A';
  const runs = Object.entries(state.runs);
  const run = runs[a % Math.max(1, runs.length)];
  switch (kind) {
    case 0:
      core.nowMs += 1 + ((a * 977 + b * 31) % (b % 10 === 0 ? 100_000 : 15_000));
      core.tick();
      if (b % 2 === 0 && core.state.poll.inFlightSeq !== null) core.answerPoll();
      return;
    case 1:
      return void core.change(id, { state: STATES[b % 4] ?? 'Todo', priority: b % 6 });
    case 2: {
      const blocker = IDS[b % IDS.length] ?? 'B';
      const blocked_by = blocker === id ? [] : [{ id: blocker, identifier: blocker, state: b % 3 ? 'Done' : 'Todo' }];
      return void core.change(id, { blocked_by: b % 4 === 0 ? [] : blocked_by });
    }
    case 3:
      return void core.change(id, {
        labels: b % 3 === 0 ? [] : ['baton'],
        dispatchable: b % 5 !== 0,
        author: b % 7 === 0 ? { login: 'eve', trusted: false } : null,
        title: b % 11 === 0 ? '' : `Title of ${id}`,
      });
    case 4:
    case 5:
      if (state.poll.inFlightSeq === null) core.send({ type: 'refresh_requested' });
      // One that is leaving polls no more.
      if (core.state.poll.inFlightSeq === null) return;
      if (b % 9 === 8) return void core.answerPoll({ candidates: { ...LIMITED, resetAtMs: core.now.wallMs + 90_000 } });
      return void core.answerPoll(b % 9 === 0 ? { refresh: DOWN } : b % 9 === 1 ? { candidates: DOWN } : {});
    case 6:
    case 7:
      return void (state.read && core.answerRead(b % 7 === 0 ? DOWN : undefined));
    case 8:
    case 9: {
      if (!run) return;
      const outcome = b % 2 === 0 ? success(null) : failure(CODES[b % CODES.length] ?? 'turn_failed', 'it broke');
      return void core.send({ type: 'run_exited', runId: run[0], outcome });
    }
    case 10:
      return void (run && talk(core, run[0], b));
    case 11:
      return void core.send({ type: b % 2 === 0 ? 'stop_requested' : 'retry_requested', issueId: id });
    case 12:
      return void core.send({ type: b % 3 === 0 ? 'pause_requested' : 'resume_requested' });
    case 13: {
      const [removed] = Object.keys(state.removals);
      const report = b % 3 === 0 ? ({ ok: false, message: 'in use' } as const) : ({ ok: true } as const);
      return void (removed && core.send({ type: 'workspace_removed', issueId: removed, report }));
    }
    case 14: {
      const agent = { ...state.config.agent, maxConcurrentAgents: 1 + (b % 3) };
      return void core.send({ type: 'config_changed', config: { ...state.config, agent }, workflowHash: `h${b}` });
    }
    case 15:
      core.freeDiskMb = b % 4 === 0 ? 1 : 100_000;
      return;
    case 16:
      return void (run && b % 4 === 0 && core.send({ type: 'run_unkillable', runId: run[0] }));
    default:
      if (kind === 17) return void (b % 40 === 0 && core.send({ type: 'shutdown_requested' }));
      return act(core, [0, a, b]);
  }
}

function talk(core: Core, runId: string, b: number): void {
  const signals = [
    { type: 'phase', phase: 'agent' },
    { type: 'session', threadId: `t-${runId}`, turnId: 'u', turn: 1 },
    { type: 'usage', threadId: `t-${runId}`, totals: { input: b * 10, cached: 0, output: b } },
    { type: 'asked', question: questionOf(runId, b) },
    { type: 'asked', question: questionOf(runId, b + 1) },
    { type: 'phase', phase: 'finishing' },
    { type: 'moved_issue', state: 'Done' },
  ] as const;
  const signal = signals[b % signals.length];
  if (signal) core.send({ type: 'run_signalled', runId, signal });
}

function questionOf(runId: string, b: number): Question {
  const id = `${runId}-q${b % 3}`;
  if (b % 2 === 0) return { id, kind: 'approval', text: 'Run a command', fields: [] };
  return {
    id,
    kind: 'input',
    text: 'Which one?',
    fields: [{ id: 'f', label: 'Which one?', options: ['this', 'that'] }],
  };
}
