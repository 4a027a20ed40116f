import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BatonError } from '../../src/domain/errors.js';
import { BUILT_IN_PROMPT, parseWorkflow } from '../../src/workflow/load-workflow.js';
import { errorOf, load, loadSettings, optionsWith, warningsOf, writeWorkflow } from './workflow-fixture.js';

test('S2-19 S2-38 S2-65 S2-66 S2-67 S2-74 a workflow that names only its tracker gets every default', async () => {
  const { workflow } = await loadSettings('tracker: {kind: local}');

  expect(workflow.config).toMatchObject({
    tracker: { kind: 'local', provider: {}, activeStates: ['todo'], terminalStates: ['done'], requiredLabels: [] },
    polling: { intervalMs: 30_000 },
    workspace: { minFreeMb: 2048, maxMb: 20_480, keepDays: 14 },
    hooks: {
      scripts: { after_create: null, before_run: null, after_run: null, before_remove: null },
      timeoutMs: 60_000,
      envAllow: [],
    },
    agent: {
      maxConcurrentAgents: 10,
      maxConcurrentAgentsByState: {},
      maxTurns: 20,
      maxRetryBackoffMs: 300_000,
      maxAttempts: 8,
      maxRunsWithoutProgress: 3,
      maxTokensPerIssue: 10_000_000,
      maxTokensPerDay: null,
      finishGraceMs: 120_000,
      inputTimeoutMs: 600_000,
      onInputTimeout: 'park',
    },
    codex: {
      command: 'codex app-server',
      approvalPolicy: 'never',
      threadSandbox: null,
      turnSandboxPolicy: null,
      readable: [],
      mcpServers: [],
      webSearch: false,
      onApprovalRequest: 'decline',
      turnTimeoutMs: 3_600_000,
      maxTurnMs: 21_600_000,
      readTimeoutMs: 5000,
      stallTimeoutMs: 300_000,
    },
    server: { port: null, host: '127.0.0.1', allowedHosts: [] },
    runtime: { env: 'allowlist', envAllow: [], isolation: 'auto', shutdownTimeoutMs: 30_000 },
  });
  expect(workflow.warnings).toEqual([]);
});

test.each([
  ['turn_timeout_ms: 1000', 21_600_000],
  ['turn_timeout_ms: 30000000', 30_000_000],
  ['turn_timeout_ms: 30000000, max_turn_ms: 1000', 1000],
])('S2-66 with codex: {%s} a whole turn may take %i ms', async (codex, maxTurnMs) => {
  const { workflow } = await loadSettings(`tracker: {kind: local}\ncodex: {${codex}}`);

  expect(workflow.config.codex.maxTurnMs).toBe(maxTurnMs);
});

test('empty sections and empty keys take their defaults', async () => {
  const { workflow } = await loadSettings('tracker: {kind: local, provider: }\nhooks:\nagent:\n  max_turns:\n');

  expect(workflow.config.agent.maxTurns).toBe(20);
  expect(workflow.config.hooks.timeoutMs).toBe(60_000);
});

test('a loaded workflow is immutable', async () => {
  const { workflow } = await loadSettings('tracker: {kind: local, provider: {a: {b: [1]}}}');

  expect(Object.isFrozen(workflow.config.agent)).toBe(true);
  expect(Object.isFrozen((workflow.config.tracker.provider as { a: { b: number[] } }).a.b)).toBe(true);
});

test('all problems of the file are reported together, each with its line and column', async () => {
  const yaml = [
    'tracker:',
    '  kind: local',
    '  active_states: [todo, 5]',
    'agent:',
    '  max_turns: many',
    '  max_attempts: -1',
    '  on_input_timeout: shrug',
    'hooks: 3',
    'codex: {command: "", turn_timeout_ms: 99999999999}',
    'server: {port: 70000}',
    'workspace: {root: $NO_SUCH_VARIABLE}',
  ];

  const error = await errorOf(loadSettings(yaml.join('\n')));

  expect(error.code).toBe('invalid_workflow_config');
  expect(error.message.split('\n')).toEqual([
    'WORKFLOW.md:4:25 tracker.active_states[1] must be text; put it in quotes, got 5',
    'WORKFLOW.md:6:14 agent.max_turns must be a positive integer, got "many"',
    'WORKFLOW.md:7:17 agent.max_attempts must be a positive integer or 0, got -1',
    'WORKFLOW.md:8:21 agent.on_input_timeout must be one of park, decline, got "shrug"',
    'WORKFLOW.md:9:8 hooks must be a map of settings, got 3',
    'WORKFLOW.md:10:18 codex.command must not be empty, got ""',
    'WORKFLOW.md:10:39 codex.turn_timeout_ms must be a positive integer (milliseconds, at most 2147483647), got 99999999999',
    'WORKFLOW.md:11:16 server.port must be a port from 0 to 65535, got 70000',
    'WORKFLOW.md:12:19 workspace.root is $NO_SUCH_VARIABLE, but the variable NO_SUCH_VARIABLE is not set or empty; set it',
  ]);
});

test.each(['', 'tracker:', 'tracker: {}', 'tracker: {kind: }'])(
  'the error for a missing tracker.kind lists the supported kinds: %j',
  async (yaml) => {
    const error = await errorOf(loadSettings(yaml));

    expect(error.code).toBe('invalid_workflow_config');
    expect(error.message).toContain('tracker.kind is required: use one of local, linear, github');
  },
);

test('the error for an empty file says that the front matter is missing', async () => {
  expect((await errorOf(load(writeWorkflow('')))).message).toContain('WORKFLOW.md has no front matter');
});

test('an unknown tracker kind is unsupported_tracker_kind; the error lists the supported kinds and the nearest one', async () => {
  const error = await errorOf(loadSettings('tracker:\n  kind: liner'));

  expect(error.code).toBe('unsupported_tracker_kind');
  expect(error.message).toBe(
    'WORKFLOW.md:3:9 tracker.kind "liner" is not supported: use one of local, linear, github; did you mean linear?',
  );
});

test('a tracker kind with the name of an Object property is unknown', async () => {
  expect((await errorOf(loadSettings('tracker: {kind: constructor}'))).code).toBe('unsupported_tracker_kind');
});

test('S2-74 limits per state are keyed by the normalised state; an invalid entry is ignored with a warning', async () => {
  const { workflow } = await loadSettings(
    'tracker: {kind: local}\nagent:\n  max_concurrent_agents_by_state:\n    " In Progress ": 2\n    todo: 0\n    done: lots\n    review: "3"',
  );

  expect(workflow.config.agent.maxConcurrentAgentsByState).toEqual({ 'in progress': 2, review: 3 });
  expect(workflow.warnings).toHaveLength(2);
  expect(warningsOf(workflow)[0]).toMatch(
    /^WORKFLOW\.md:6:11 .*"todo" is ignored, its limit must be a positive integer$/,
  );
});

test('with codex.on_approval_request: ask the default approval policy is on-request; an explicit policy wins', async () => {
  const asking = await loadSettings('tracker: {kind: local}\ncodex: {on_approval_request: ask}');
  const explicit = await loadSettings(
    'tracker: {kind: local}\ncodex: {on_approval_request: ask, approval_policy: never}',
  );

  expect(asking.workflow.config.codex.approvalPolicy).toBe('on-request');
  expect(explicit.workflow.config.codex.approvalPolicy).toBe('never');
});

test('pass-through settings of codex are not changed', async () => {
  const { workflow } = await loadSettings(
    'tracker: {kind: local}\ncodex:\n  approval_policy: {reject: {rules: true}}\n  turn_sandbox_policy: {type: workspaceWrite, writableRoots: [/x], n: null}',
  );

  expect(workflow.config.codex.approvalPolicy).toEqual({ reject: { rules: true } });
  expect(workflow.config.codex.turnSandboxPolicy).toEqual({ type: 'workspaceWrite', writableRoots: ['/x'], n: null });
});

test('S2-68 a stall timeout of 0 or less is accepted; 0 disables a token budget', async () => {
  const { workflow } = await loadSettings(
    'tracker: {kind: local}\ncodex: {stall_timeout_ms: -1}\nagent: {max_tokens_per_issue: 0, max_tokens_per_day: 5}',
  );

  expect(workflow.config.codex.stallTimeoutMs).toBe(-1);
  expect(workflow.config.agent).toMatchObject({ maxTokensPerIssue: null, maxTokensPerDay: 5 });
});

test('a NUL character is rejected in commands, hooks and paths', async () => {
  const error = await errorOf(
    loadSettings(
      'tracker: {kind: local}\nhooks: {before_run: "a\\0b"}\ncodex: {command: "a\\0b"}\nworkspace: {root: "a\\0b"}',
    ),
  );

  expect(error.message.match(/must not contain a NUL/g)).toHaveLength(3);
});

test('required labels are lower-cased; a blank label is kept and matches no issue', async () => {
  const { workflow } = await loadSettings('tracker: {kind: local, required_labels: [" Agent ", ""]}');

  expect(workflow.config.tracker.requiredLabels).toEqual(['agent', '']);
});

test('active states that can never start an issue cause a warning', async () => {
  const empty = await loadSettings('tracker: {kind: local, active_states: []}');
  const both = await loadSettings('tracker: {kind: local, active_states: [Open], terminal_states: [" open"]}');

  expect(warningsOf(empty.workflow)[0]).toContain('no issue will ever be started');
  expect(warningsOf(both.workflow)[0]).toContain('"Open" is both an active and a terminal state');
});

test('an empty body uses the built-in prompt', async () => {
  const { workflow } = await load(writeWorkflow('---\ntracker: {kind: local}\n---\n  \n\n'));

  expect(workflow.prompt).toEqual({ text: BUILT_IN_PROMPT, startLine: 0, file: 'WORKFLOW.md' });
  for (const field of ['identifier', 'title', 'description']) expect(BUILT_IN_PROMPT).toContain(`issue.${field}`);
});

test('S2-37 an invalid file does not fall back to the built-in prompt', async () => {
  expect((await errorOf(load(writeWorkflow('---\ntracker: {kind: local\n---\n')))).code).toBe('workflow_parse_error');
});

test('an unknown key at any level causes a warning and no error', async () => {
  const { workflow, frontMatter } = await loadSettings(
    'tracker: {kind: local, knd: x}\nagnet: {a: 1}\nagent:\n  maxTurns: 3\n  zzz: 1\nmax_attempts: 4',
  );

  expect(warningsOf(workflow)).toEqual([
    'WORKFLOW.md:2:24 unknown key tracker.knd has no effect; did you mean tracker.kind?',
    'WORKFLOW.md:3:1 unknown key agnet has no effect; did you mean agent?',
    'WORKFLOW.md:5:3 unknown key agent.maxTurns has no effect; did you mean agent.max_turns?',
    'WORKFLOW.md:6:3 unknown key agent.zzz has no effect',
    'WORKFLOW.md:7:1 unknown key max_attempts has no effect; did you mean agent.max_attempts?',
  ]);
  expect(frontMatter).toMatchObject({ agnet: { a: 1 }, agent: { zzz: 1 } });
});

test('for arbitrary settings only BatonError is thrown', async () => {
  const key = fc.constantFrom(
    'tracker',
    'kind',
    'provider',
    'agent',
    'max_turns',
    'hooks',
    'codex',
    'steps',
    'workspace',
    'root',
    'api_key',
    'active_states',
    'max_concurrent_agents_by_state',
    '__proto__',
    'toString',
    'x',
  );
  const leaf = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.constantFrom(null, 'local', '$HOME', '~/x', ''),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
    ),
  }));

  await fc.assert(
    fc.asyncProperty(fc.dictionary(key, tree, { maxKeys: 6 }), async (settings) => {
      const bytes = Buffer.from(`---\n${JSON.stringify(settings)}\n---\nHi`);
      await parseWorkflow({ path: '/nowhere/WORKFLOW.md', bytes, hash: 'h' }, optionsWith()).catch((error: unknown) => {
        if (!(error instanceof BatonError)) throw error;
      });
    }),
    { numRuns: 400 },
  );
});
