import { describe, expect, test } from 'vitest';
import { changeKey } from '../../src/cli/status.js';
import { renderDaemons, renderStatus, renderStored } from '../../src/cli/status-view.js';
import { storedView } from '../../src/cli/stored-status.js';
import { paintOf } from '../../src/cli/terminal.js';
import type { Durable } from '../../src/domain/durable.js';
import { formatMoment } from '../../src/text/format-time.js';
import { widthOf } from '../../src/text/terminal-text.js';
import { CLAIMS, finished, parked } from '../store/stored-samples.js';
import {
  ago,
  doneIssue,
  frame,
  NOW,
  named,
  parkedIssue,
  readyIssue,
  runningRun,
  stateWith,
  waitingIssue,
} from './sample-state.js';

const NO_SLOT = 'no free slot: agent.max_concurrent_agents is 3';

const BUSY = stateWith({
  asking: [
    {
      ...named(7, 'Delete the old index'),
      ...{ run_id: 'run-7', asked_at: ago(180), answer_until: ago(-420), on_timeout: 'park' },
      questions: [
        { id: 'q', kind: 'approval', text: 'May I run `rm -rf index`?\n\nIt is in the workspace.', fields: [] },
      ],
    },
  ],
  running: [
    runningRun(7, 'Delete the old index', { asking: true, last_event_at: ago(180) }),
    runningRun(1, 'Write a greeting in the language of whoever reads it, politely', {
      turn_count: 3,
      last_message: 'ran `npm test`, exit 0 (2.3 s)',
    }),
    runningRun(12, 'Review', { step: { id: 'review', kind: 'codex' }, last_message: 'is thinking' }),
  ],
  ready: [{ ...readyIssue(3, 'Count the words', NO_SLOT), priority: 1 }, readyIssue(4, 'Translate', NO_SLOT)],
  retrying: [
    waitingIssue(9, 'Flaky', { error: 'the agent gave up', error_code: 'turn_failed', failures: 2 }),
    waitingIssue(10, 'Idle', { reason: 'continuation', due_at: ago(-8), runs_without_progress: 1 }),
  ],
  parked: [
    parkedIssue(5, 'Stuck'),
    parkedIssue(6, 'Paint the door', {
      reason: 'input_required',
      question: {
        ...{ id: 'q2', kind: 'input', text: 'Which colour?' },
        fields: [{ id: 'colour', label: 'The colour', options: ['red', 'blue'] }],
      },
    }),
    parkedIssue(13, 'Dear', { reason: 'budget', message: '10M of 10M tokens are spent', since: ago(40) }),
  ],
  done: [doneIssue(2, 'Add a licence'), doneIssue(8, 'For review', { terminal: false, state: 'In Review', runs: 2 })],
  ineligible: [
    { ...named(20, 'x'), reasons: [{ rule: 'labels', why: 'it lacks the label "baton"', params: {} }] },
    { ...named(21, 'x'), reasons: [{ rule: 'blocked', why: 'TASK-20 blocks it', params: {} }] },
  ],
});

describe('the status of a daemon', () => {
  test('shows first the issues that need a person, with the command to type', () => {
    expect(renderStatus(BUSY, frame())).toBe(`/home/me/project/WORKFLOW.md
2 need you · 2 running · 1 asking · 2 next · 2 waiting · 2 parked · 2 done
pid 4242, up 3 h 12 min · 3 of 3 slots taken · 1.2M of 5M tokens today
tracker read 12 s ago

Needs you (2)
  TASK-7  Delete the old index                  asked 3 min ago, parked in 7 min
          │ May I run \`rm -rf index\`?
          │ It is in the workspace.
          baton answer TASK-7 --accept  (or --decline)
  TASK-6  Paint the door                                          parked 2 h ago
          │ Which colour?
          │ The colour (red | blue)
          baton answer TASK-6 '<answer>'

Running (3): 1 asks
  TASK-7   Delete the old index                       4 min · 120k of 10M tokens
           waits for an answer, see above · 3 min ago
  TASK-1   Write a greeting in the language of whoe…  4 min · 120k of 10M tokens
           turn 3: ran \`npm test\`, exit 0 (2.3 s) · 5 s ago
  TASK-12  Review                                     4 min · 120k of 10M tokens
           step review (codex), turn 1: is thinking · 5 s ago

Next (2): no free slot: agent.max_concurrent_agents is 3
  TASK-3  Count the words                                             priority 1
  TASK-4  Translate

Waiting (2)
  TASK-9   Flaky                               retry in 45 s · 2 failed in a row
           turn_failed: the agent gave up
  TASK-10  Idle                         continuation in 8 s · 1 without progress

Parked (2)
  TASK-5   Stuck                                           no_progress · 2 h ago
           3 runs left the issue as it was
           when the issue changes, or: baton retry TASK-5
  TASK-13  Dear                                                budget · 40 s ago
           10M of 10M tokens are spent
           when agent.max_tokens_per_issue is raised, or: baton retry TASK-13

Done since yesterday (2)
  TASK-2  ✓ Add a licence                   1 run, 45.7k tokens · 1 h 30 min ago
  TASK-8  → For review     now In Review · 2 runs, 45.7k tokens · 1 h 30 min ago

Not eligible (2)
  it lacks the label "baton": TASK-20
  TASK-20 blocks it: TASK-21
All rules of an issue: baton explain <issue>
`);
  });

  test.each([40, 60, 80, 120])('fits into %i columns', (width) => {
    const lines = renderStatus(BUSY, frame({ width, widest: width, all: true })).split('\n');

    const commands = lines.filter((line) => /baton (?:answer|retry|explain) /.test(line));
    expect(lines.filter((line) => widthOf(line) > width && !commands.includes(line))).toEqual([]);
    expect(commands).toHaveLength(5);
  });

  test('an idle daemon is a few lines with the reason', () => {
    const why = `No issue of the tracker is in an active state ("To Do"); it is read again at ${ago(-18)}.`;

    expect(renderStatus(stateWith({ why_idle: why }), frame())).toBe(`/home/me/project/WORKFLOW.md
0 running
pid 4242, up 3 h 12 min · 0 of 3 slots taken · 1.2M of 5M tokens today
tracker read 12 s ago
Nothing happens: no issue of the tracker is in an active state ("To Do"); it
  is read again at ${formatMoment(NOW + 18_000, NOW)}, in 18 s.
`);
  });

  test('everything that prevents the daemon from working is shown with the remedy', () => {
    const sick = stateWith({
      why_idle: 'On hold (agent_unauthorized): codex says 401.',
      why_idle_reason: { code: 'start_rule_failed', params: { rule: 'no_hold_agent', params: {} } },
      paused: { since: ago(400) },
      holds: [
        {
          ...{ source: 'agent', code: 'agent_unauthorized', message: 'codex says 401', action: 'Log in again.' },
          ...{ since: ago(300), until: ago(-200), tries: 2 },
        },
        {
          ...{ source: 'budget', code: 'budget_exceeded', message: '5M of 5M tokens are spent', action: 'Wait.' },
          ...{ since: ago(300), until: ago(-200), tries: 0 },
        },
      ],
      poll: {
        ...stateWith().poll,
        ...{ health: 'failed', error: 'connect ECONNREFUSED', error_code: 'tracker_request', failing_since: ago(90) },
        problems: ['task-3.md: line 4 is no YAML', 'another'],
      },
      workflow: {
        ...stateWith().workflow,
        error: {
          code: 'invalid_workflow_config',
          message: 'all of it',
          problems: [
            {
              ...{ code: 'invalid_workflow_config', params: {} },
              text: 'WORKFLOW.md:3:5 agent.max_turns must be a number',
            },
            {
              ...{ code: 'unknown_key', params: { key: 'agnet', suggestion: 'agent' } },
              text: 'WORKFLOW.md:4:1 unknown key agnet has no effect; did you mean agent?',
            },
          ],
        },
        restart_required: ['server.port', 'workspace.root'],
      },
      shutting_down: true,
    });

    expect(renderStatus(sick, frame({ target: ' --workflow other.md' }))).toBe(`/home/me/project/WORKFLOW.md
1 needs you · 0 running
pid 4242, up 3 h 12 min · 0 of 3 slots taken · 1.2M of 5M tokens today
Paused for 6 min: no run is started. To resume: baton resume --workflow other.md
Shutting down: runs are being stopped.
On hold for 5 min (budget_exceeded): 5M of 5M tokens are spent. Wait. The next
  try is in 3 min.
The tracker could not be read for 1 min (tracker_request): connect
  ECONNREFUSED. The next try is in 18 s.
2 problems in the tracker: task-3.md: line 4 is no YAML; …
The file is invalid, so the previous settings stay in effect
  (invalid_workflow_config):
  WORKFLOW.md:3:5 agent.max_turns must be a number
  warning: WORKFLOW.md:4:1 unknown key agnet has no effect; did you mean
    agent?
Changed, and in effect once no run is active: server.port, workspace.root

Needs you (1)
  On hold  agent_unauthorized        for 5 min, 2 tries failed, retried in 3 min
           codex says 401. Log in again.
`);
    const coloured = renderStatus(sick, frame({ paint: paintOf(true) }));
    expect(coloured).toContain('\u001b[31mWORKFLOW.md:3:5 agent');
    expect(coloured).toContain('\u001b[33mwarning: WORKFLOW.md:4:1');
  });

  test.each([
    ['none', true],
    ['pidns', false],
    [null, false],
  ] as const)('SEC-12 with isolation %s, that runs are not isolated is shown: %s', (isolation, isShown) => {
    const { daemon, ...rest } = stateWith();

    const text = renderStatus({ ...rest, daemon: { ...daemon, isolation } }, frame());

    expect(text.includes('Runs are not isolated')).toBe(isShown);
  });

  test('shows the first of a thousand issues and the number of the others', () => {
    const many = stateWith({ ready: Array.from({ length: 1_000 }, (_, at) => readyIssue(at, 'One of many', NO_SLOT)) });

    const text = renderStatus(many, frame());

    expect(text).toContain('Next (1000): no free slot');
    expect(text).toContain('TASK-9 ');
    expect(text).not.toContain('TASK-10 ');
    expect(text).toContain('\n  … and 990 more (--all)\n');
    expect(renderStatus(many, frame({ all: true }))).toContain('TASK-999 ');
  });

  test('issues that wait for different reasons show their reasons', () => {
    const mixed = stateWith({ ready: [readyIssue(1, 'First'), readyIssue(2, 'Second', NO_SLOT)] });

    expect(renderStatus(mixed, frame())).toContain(`Next (2)
  TASK-1  First
          starts now
  TASK-2  Second
          no free slot: agent.max_concurrent_agents is 3
`);
  });

  test('a due retry is listed with the queued issues, not with the waiting ones', () => {
    const due = stateWith({
      ready: [{ ...readyIssue(9, 'Flaky', NO_SLOT), retry: true }],
      retrying: [waitingIssue(9, 'Flaky', { due: true, due_at: ago(3) })],
    });

    const text = renderStatus(due, frame());

    expect(text).toMatch(/Next \(1\).*\n {2}TASK-9 {2}Flaky +again\n/);
    expect(text).not.toContain('Waiting');
  });

  test('shows the progress of a run', () => {
    const phases = stateWith({
      running: [
        runningRun(1, 'a', { phase: 'claiming', last_event_at: null, started_at: null }),
        runningRun(2, 'b', { phase: 'preparing', last_message: 'hook after_create finished' }),
        runningRun(3, 'c', { phase: 'finishing' }),
        runningRun(4, 'd', { stopping: 'stalled' }),
        runningRun(5, 'e', { phase: null }),
        runningRun(6, 'f', { probe: true, turn_count: 0 }),
        runningRun(7, 'g', { last_message: 'turn 1 began', last_message_event: 'session_started' }),
      ],
    });

    const said = renderStatus(phases, frame()).match(/^ {10}(?! ).+$/gm);

    expect(said?.map((line) => line.trim())).toEqual([
      'is about to start',
      'prepares its workspace: hook after_create finished · 5 s ago',
      'finishes · 5 s ago',
      'is being stopped (stalled) · 5 s ago',
      'is being resumed after a restart · 5 s ago',
      'probes whether the hold is over, works · 5 s ago',
      'turn 1 began 5 s ago, no event since',
    ]);
  });

  test('SEC-17 control sequences in text of issues, agents and trackers have no effect', () => {
    const evil = '\u001b[2J\u009b1m\r\nNeeds you (0)\u202e\u2028x';
    const hostile = stateWith({
      asking: [
        {
          ...named(1, evil),
          issue_identifier: `A-1\u001b]0;x\u0007$(touch x)`,
          ...{ run_id: 'r', asked_at: null, answer_until: null, on_timeout: 'decline' },
          questions: [{ id: evil, kind: 'input', text: evil, fields: [{ id: evil, label: evil, options: [evil] }] }],
        },
      ],
      running: [runningRun(2, evil, { last_message: evil, step: { id: evil, kind: evil } })],
      ready: [readyIssue(3, evil, evil)],
      retrying: [waitingIssue(4, evil, { error: evil, error_code: evil, reason: evil })],
      parked: [parkedIssue(5, evil, { message: evil, reason: evil })],
      ineligible: [{ ...named(6, evil), reasons: [{ rule: evil, why: evil, params: {} }] }],
      done: [doneIssue(7, evil, { terminal: false, state: evil })],
      why_idle: evil,
      workflow: {
        ...stateWith().workflow,
        path: `/x/${evil}`,
        error: { code: evil, message: evil, problems: [{ code: evil, params: {}, text: evil }] },
      },
    });

    const text = renderStatus(hostile, frame({ all: true }));

    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u2028\u2029\u202e]/u);
    expect(text.split('\n').filter((line) => line.startsWith('Needs you'))).toEqual(['Needs you (1)']);
    expect(text).toContain("baton answer 'A-1\\u001b]0;x\\u0007$(touch x)' '<answer>'");
  });

  test('ineligible issues are grouped by reason, and listed with --all', () => {
    const why = (at: number) => (at % 10 === 0 ? `TASK-${at} blocks it` : 'it lacks the label "baton"');
    const many = stateWith({
      ineligible: Array.from({ length: 60 }, (_, at) => ({
        ...named(at, 'x'),
        reasons: [{ rule: 'r', why: why(at), params: {} }],
      })),
    });

    expect(renderStatus(many, frame()).split('\n').slice(-7)).toEqual([
      'Not eligible (60)',
      '  it lacks the label "baton" (54): TASK-1, TASK-2, TASK-3, TASK-4, TASK-5, TASK…',
      '  TASK-0 blocks it: TASK-0',
      '  TASK-10 blocks it: TASK-10',
      '  … and 4 more reasons (--all)',
      'All rules of an issue: baton explain <issue>',
      '',
    ]);
    const all = renderStatus(many, frame({ all: true }));
    for (let at = 0; at < 60; at++) expect(all).toMatch(new RegExp(`TASK-${at}\\b`));
    expect(all.split('\n').every((line) => widthOf(line) <= 80)).toBe(true);
  });

  test('cuts no title while the terminal has columns to spare', () => {
    const long = stateWith({ running: [runningRun(1, `${'x'.repeat(120)} end`), runningRun(2, 'short')] });

    const text = renderStatus(long, frame({ width: 120, widest: 200 }));

    expect(text).toContain('xxx end  4 min · 120k of 10M tokens\n');
    expect(renderStatus(long, frame({ width: 120, widest: 130 }))).toMatch(/x… {2}4 min .* tokens\n/);
    expect(text.match(/^.* 4 min · .*$/gm)?.map(widthOf)).toEqual([162, 162]);
  });

  test('an identifier that looks like a flag stands behind all flags of its commands', () => {
    const question = { id: 'q', kind: 'approval' as const, text: 'May I?', fields: [] };
    const name = { issue_identifier: '-rf' };
    const text = renderStatus(
      stateWith({
        parked: [
          { ...parkedIssue(1, 'a'), ...name },
          { ...parkedIssue(2, 'b', { question }), ...name },
          { ...parkedIssue(3, 'c', { reason: 'configuration' }), ...name },
        ],
      }),
      frame({ target: ' --state-dir s' }),
    );

    expect(text).toContain('  baton answer --accept --state-dir s -- -rf  (or --decline)\n');
    expect(text).toContain('when the issue changes, or: baton retry --state-dir s -- -rf\n');
    expect(text).toContain('when the issue or the workflow changes, or: baton retry --state-dir s -- -rf\n');
  });

  test('on a small screen that does not scroll every list is shortened', () => {
    const asked = BUSY.asking.flatMap((one) => [1, 2, 3].map((id) => ({ ...one, ...named(id, 'Ask') })));
    const busy = { ...BUSY, asking: asked };

    const lines = renderStatus(busy, frame({ height: 24 })).split('\n');

    expect(lines.slice(4, 12)).toEqual([
      '',
      'Needs you (4)',
      '  TASK-1  Ask                                   asked 3 min ago, parked in 7 min',
      '          │ May I run `rm -rf index`? · It is in the workspace.',
      '          baton answer TASK-1 --accept  (or --decline)',
      '  TASK-2  Ask                                   asked 3 min ago, parked in 7 min',
      '          │ May I run `rm -rf index`? · It is in the workspace.',
      '          baton answer TASK-2 --accept  (or --decline)',
    ]);
    expect(lines.slice(0, 24).join('\n')).toContain('Running (3): 1 asks\n');
    expect(lines.length).toBeLessThan(renderStatus(busy, frame()).split('\n').length);
  });

  test('every row of a question has the bar of the question', () => {
    const [asks] = BUSY.asking;
    const question = { id: 'q', kind: 'approval' as const, text: 'Run a command '.repeat(8).trim(), fields: [] };
    const long = stateWith({ asking: asks ? [{ ...asks, questions: [question] }] : [] });

    const rows = renderStatus(long, frame()).match(/^.*Run a command.*$/gm);

    expect(rows).toHaveLength(2);
    expect(rows?.every((row) => row.startsWith('          │ '))).toBe(true);
  });

  test('wide characters take two columns, and a very long title is cut', () => {
    const wide = stateWith({
      ready: [
        readyIssue(1, '漢字'.repeat(50)),
        readyIssue(2, 'x'.repeat(100_000)),
        readyIssue(3, '👩‍👩‍👧‍👦'.repeat(30)),
      ],
    });

    const lines = renderStatus(wide, frame()).split('\n');

    expect(lines.every((line) => widthOf(line) <= 80)).toBe(true);
    expect(lines.filter((line) => line.endsWith('…'))).toHaveLength(3);
  });

  test('the text is the same with and without colour', () => {
    const coloured = renderStatus(BUSY, frame({ paint: paintOf(true) }));

    expect(coloured).toContain('\u001b[33mNeeds you (2)\u001b[0m');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the colours.
    expect(coloured.replace(/\u001b\[\d+m/g, '')).toBe(renderStatus(BUSY, frame()));
  });
});

test('every question has the command that answers only it', () => {
  const field = (id: string) => ({ id, label: id, options: [] });
  const several = stateWith({
    asking: [
      {
        ...named(1, 'Ask'),
        ...{ run_id: 'r', asked_at: null, answer_until: null, on_timeout: 'park' },
        questions: [
          { id: 'q 1', kind: 'approval', text: 'May I?', fields: [] },
          { id: 'q2', kind: 'input', text: 'Which?', fields: [field('size'), field('the colour')] },
        ],
      },
    ],
  });

  const text = renderStatus(several, frame({ target: ' --state-dir s' }));

  expect(text).toContain("          baton answer TASK-1 --accept --question 'q 1' --state-dir s  (or --decline)\n");
  expect(text).toContain(
    "          baton answer TASK-1 --field size='<answer>' --field 'the colour'='<answer>' --question q2 --state-dir s\n",
  );
});

const HOUR = 3_600_000;
const INSTANT = { wallMs: NOW, awakeMs: 0, day: '2026-11-18', dayEndsAtMs: NOW + 12 * HOUR };
const NOTHING: Durable = { claims: {}, records: {}, holds: {}, pausedSinceMs: null, ledger: {}, finished: [] };

describe('the stored state', () => {
  const facts = { path: '/home/me/WORKFLOW.md', storedAtMs: NOW - HOUR, start: 'baton' };

  test('is shown with its age and the command that starts the daemon', () => {
    const durable: Durable = {
      ...NOTHING,
      claims: { ...CLAIMS, D: parked('D') },
      holds: { agent: { code: 'agent_quota', message: 'used up', sinceMs: 1, tries: 0, untilMs: null, probed: [] } },
      pausedSinceMs: NOW - 2 * HOUR,
      finished: [
        finished('old', 1, NOW - 60 * HOUR),
        finished('E', 2, NOW - 30 * HOUR),
        { ...finished('F', 1, NOW - HOUR), afterRunFailed: true },
      ],
    };

    const text = renderStored(storedView(durable, INSTANT), facts, frame());

    expect(text).toBe(`/home/me/WORKFLOW.md
No daemon is running; this is what was stored at ${formatMoment(NOW - HOUR, NOW)}.
To start it: baton
Paused for 2 h; a start does not end this. To resume: baton resume
It was on hold (agent_quota): used up

Needs you (2): start the daemon to answer
  A  Title of A
     │ Which one?
     │ One (a | b)
  C  Title of C                                          parked 20775 d 11 h ago
     │ Which one?
     │ One (a | b)

Interrupted (1): they continue when the daemon is started
  A  Title of A                                                            run 3

Waiting (1)
  B  Title of B                                    retry due · 2 failed in a row
     waits for a free slot; agent.max_concurrent_agents is the limit

Parked (1)
  D  Title of D                                        budget · 20775 d 11 h ago
     spent

Done since yesterday (2)
  id-F  ✗ t                                            1 run, 5 tokens · 1 h ago
        after_run failed, so its work may not be pushed
  id-E  ✓ t                                       2 runs, 5 tokens · 1 d 6 h ago
`);
  });

  test('may be empty', () => {
    const text = renderStored(storedView(NOTHING, INSTANT), { ...facts, storedAtMs: null }, frame());

    expect(text).toBe(`/home/me/WORKFLOW.md
No daemon is running, and none has stored anything here.
To start it: baton
`);
  });
});

test('SEC-30 changes that wait to be allowed are shown with the first lines of their diff', () => {
  const added = Array.from({ length: 30 }, (_, index) => `+line ${index}`);
  const held = {
    ...{ hash: 'h', since: ago(60), changes: ['hooks.before_run changed'], is_cut: false },
    diff: ['--- WORKFLOW.md (allowed)', '+++ WORKFLOW.md (now)', '-\u001b[2Jold', ...added].join('\n'),
  };
  const view = stateWith({ workflow: { ...stateWith().workflow, held } });

  const text = renderStatus(view, frame());

  expect(text).toMatch(
    /hooks\.before_run changed\n {2}--- WORKFLOW\.md \(allowed\)\n[\s\S]* {2}\+line 16\n {2}… and 13 lines more\n/,
  );
  expect(text).toContain('baton allow');
  expect(text).not.toContain('\u001b');
});

describe('the list of daemons of a user', () => {
  const holder = { pid: 4242, since: ago(600), workflow: '/home/me/one/WORKFLOW.md', stateDir: '/state/one' };

  test('is shown in a few lines', () => {
    const question = { id: 'q', kind: 'approval', text: 'May I?', fields: [] } as const;
    const busy = stateWith({
      running: [runningRun(1, 'a'), runningRun(2, 'b', { asking: true })],
      asking: [
        {
          ...named(2, 'b'),
          ...{ run_id: 'run-2', asked_at: null, answer_until: null, on_timeout: 'park' },
          questions: [{ ...question, fields: [] }],
        },
      ],
      parked: [parkedIssue(3, 'c', { question: { ...question, fields: [] } }), parkedIssue(4, 'd')],
      ready: [readyIssue(5, 'e')],
    });
    const idle = stateWith({ why_idle: 'TASK-9 is parked (no_progress, 3 runs left it as it was).' });
    const hold = {
      ...{ source: 'agent', code: 'agent_quota', message: 'used up', action: 'Wait.' },
      ...{ since: null, until: null, tries: 0 },
    };
    const held = stateWith({ running: [runningRun(1, 'a')], hold, holds: [hold] });

    const text = renderDaemons(
      [
        { holder, answer: busy },
        { holder: { ...holder, workflow: '/two/WORKFLOW.md' }, answer: idle },
        { holder: { ...holder, workflow: '/three/WORKFLOW.md' }, answer: held },
        { holder: { ...holder, workflow: '/four/\u001b[2J' }, answer: { error: 'it gave no answer within 5 s' } },
      ],
      frame(),
    );

    expect(text).toBe(`/home/me/one/WORKFLOW.md
  2 need you · 1 running · 1 asking · 1 next · 1 parked · pid 4242, up 10 min

/two/WORKFLOW.md
  0 running · pid 4242, up 10 min
  TASK-9 is parked (no_progress, 3 runs left it as it was).

/three/WORKFLOW.md
  1 needs you · 1 running · pid 4242, up 10 min
  On hold (agent_quota): used up

/four/\\u001b[2J
  pid 4242, up 10 min; its status is unknown: it gave no answer within 5 s

More about a daemon: baton status <workflow>
`);
  });

  test('may be empty', () => {
    expect(renderDaemons([], frame())).toBe(
      'No daemon of yours is running, and there is no WORKFLOW.md in this folder.\nTo make one: baton init\n',
    );
  });
});

describe('a visible change', () => {
  const before = stateWith({ running: [runningRun(1, 'a')], ready: [readyIssue(2, 'b', 'no free slot')] });

  test('is not the time, a poll of the tracker, or spent tokens', () => {
    const later = {
      ...before,
      generated_at: ago(-60),
      tokens_today: { spent: 9, limit: null },
      poll: { ...before.poll, last: ago(-50), next: ago(-80), in_flight: true },
      running: [runningRun(1, 'a', { last_event_at: ago(-50), budget: { spent: 9, limit: 10 } })],
    };

    expect(changeKey(later)).toBe(changeKey(before));
  });

  test.each([
    ['a run that says something else', { running: [runningRun(1, 'a', { last_message: 'is thinking' })] }],
    ['a run that has ended', { running: [] }],
    ['an issue that was parked', { parked: [parkedIssue(3, 'c')] }],
    ['a pause', { paused: { since: ago(1) } }],
    ['a tracker that cannot be read', { poll: { ...before.poll, health: 'failed' as const, error: 'gone' } }],
  ])('is %s', (_, change) => {
    expect(changeKey({ ...before, ...change })).not.toBe(changeKey(before));
  });
});
