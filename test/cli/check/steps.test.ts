import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Finding } from '../../../src/cli/check/finding.js';
import { check } from '../../../src/cli/check.js';
import { memoryRegistry, type World, world } from '../cli-fixture.js';

const SERVICES =
  'services: {defaults: {tenant: t, token: $TOKEN}, gateway: {base_url: "http://127.0.0.1:1"}, agents: {base_url: "http://127.0.0.1:2"}}';

async function checked(io: World, rest: string, options: { backend?: string; body?: string } = {}) {
  const { body = 'Do {{ issue.title }}', ...flags } = options;
  io.write(
    'WORKFLOW.md',
    `---\ntracker: { kind: memory, required_labels: [baton] }\nworkspace: { min_free_mb: 1 }\n${rest}\n---\n${body}\n`,
  );
  const code = await check({ workflowPath: 'WORKFLOW.md', json: true, schema: false, ...flags }, io, memoryRegistry());
  const { findings } = JSON.parse(io.out()) as { findings: Finding[] };
  const steps = findings.filter(({ group }) => group === 'Steps');
  return { code, findings, steps, of: (wanted: string) => findings.filter((finding) => finding.code === wanted) };
}

function put(folder: string, name: string, text: string): string {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

test('the plan is described in words, and codex is not checked when no step starts it', async () => {
  const { code, of, findings } = await checked(
    world({ env: { TOKEN: 'x' } }),
    `${SERVICES}
steps:
  - { id: plan, kind: llm, model: m, prompt: x }
  - { id: review, loop: { max_iterations: 3, steps: [ { id: critic, kind: agent, backend: http, agent: a } ] } }
  - { id: both, parallel: [ { id: a, kind: llm, model: m, prompt: x }, { id: b, kind: llm, model: m, prompt: x } ] }
  - { id: each, fan_out: { items: [1], steps: [ { id: c, kind: llm, model: m, prompt: x } ] }, fan_in: {} }`,
  );

  expect(of('plan')).toMatchObject([
    {
      level: 'note',
      group: 'Steps',
      line: 6,
      message:
        'a run has 5 steps: plan (llm), review (up to 3 times: critic (agent http)), both (at the same time: a (llm) | b (llm)), each (for each item: c (llm))',
    },
  ]);
  expect(findings.filter(({ group }) => group === 'Agent')).toEqual([]);
  expect(code).toBe(0);
});

test('a workflow without steps has no findings about steps', async () => {
  const io = world();
  io.program('codex', '#!/bin/sh\necho codex-cli 9.9.9\n');

  const { steps, of } = await checked(io, '');

  expect(steps).toEqual([]);
  expect(of('agent_found')).toHaveLength(1);
});

describe('S1-11 the resolution of auto', () => {
  const auto = `${SERVICES}\nsteps: [{id: a, kind: agent, backend: auto, agent: x}]`;
  const env = { TOKEN: 'x' };
  const words = async (rest: string, options: { backend?: string } = {}, more: NodeJS.ProcessEnv = {}) => {
    const io = world({ env: { ...env, ...more } });
    io.program('codex', '#!/bin/sh\necho 1\n');
    return (await checked(io, rest, options)).of('backend').map(({ message }) => message);
  };

  test('is shown with its reason when a step has auto or a backend is configured', async () => {
    expect(await words(auto)).toEqual(['backend: auto became http, because nothing else is set']);
    expect(await words(`runtime: {backend: cli}\n${auto}`)).toEqual([
      'backend: auto became cli, because runtime.backend is set',
    ]);
    expect(await words(auto, { backend: 'cli' })).toEqual(['backend: auto became cli, because --backend is set']);
    expect(await words('', {}, { ORBIT_BACKEND: 'cli' })).toEqual([
      'backend: auto became cli, because ORBIT_BACKEND is set',
    ]);
  });

  test('is not shown when no step has auto and no backend is configured', async () => {
    expect(await words('steps: [{id: a, kind: agent}]')).toEqual([]);
  });

  test('S1-25 an invalid flag is an error without a line', async () => {
    const { code, of } = await checked(world({ env }), auto, { backend: 'x' });

    expect(code).toBe(2);
    expect(of('invalid_backend')).toMatchObject([
      { level: 'error', line: null, advice: expect.stringContaining('flag') },
    ]);
  });
});

test('every load error has its own code, line and advice; errors in definitions have their file', async () => {
  const io = world();
  io.program('codex', '#!/bin/sh\necho 1\n');
  put(io.dir, '.baton/executors/wrong.yaml', 'schemaVersion: 1\n');

  const { code, findings } = await checked(
    io,
    'agent: {max_turns: many}\nagnet: {}\nsteps:\n  - {id: a, kind: agent, session: s}\n  - {id: b, kind: external, executor: e}',
  );

  const found = findings
    .filter(({ group }) => group === 'Workflow')
    .map(({ level, code: of, file, line, advice }) => `${level} ${of} ${file}:${line} ${advice !== null}`);
  expect(code).toBe(2);
  expect(found.sort()).toEqual([
    'error EXECUTOR_NOT_FOUND WORKFLOW.md:8 true',
    'error JobValidation .baton/executors/wrong.yaml:1 true',
    'error JobValidation WORKFLOW.md:7 true',
    'error invalid_workflow_config WORKFLOW.md:4 true',
    'warning unknown_key WORKFLOW.md:5 false',
  ]);
});

test('a warning about a definition names its file', async () => {
  const io = world();
  io.program('codex', '#!/bin/sh\necho 1\n');
  put(
    io.homeDir,
    '.baton/executors/skipped.yaml',
    'schemaVersion: 2\nkind: Executor\nmetadata: {name: skipped}\nspec: {}\n',
  );

  const { of } = await checked(io, '');

  expect(of('workflow_warning')).toMatchObject([
    {
      file: '~/.baton/executors/skipped.yaml',
      line: 4,
      message: 'executor "skipped": it has no command, so it is skipped',
    },
  ]);
});

describe('the command of an external executor', () => {
  const uses = (definition: string) => `executors: {e: ${definition}}\nsteps: [{id: a, kind: external, executor: e}]`;

  test('is looked up as at run time, in the folder of its definition or on PATH', async () => {
    const io = world();
    const onPath = io.program('harness', '#!/bin/sh\n');
    const own = put(io.dir, 'bin/own', '#!/bin/sh\n');
    chmodSync(own, 0o755);

    const bare = await checked(io, uses('{command: harness}'));
    const other = world();
    chmodSync(put(other.dir, 'bin/own', '#!/bin/sh\n'), 0o755);
    const relative = await checked(other, uses('{command: ./bin/own}'));

    expect(bare.of('executor_found')).toMatchObject([
      { level: 'note', message: `the executor e is ${onPath}`, line: 5 },
    ]);
    expect(relative.of('executor_found')).toMatchObject([
      { message: `the executor e is ${join(other.dir, 'bin/own')}` },
    ]);
  });

  test('is an environment error with exit 1 when it is missing or not executable', async () => {
    const missing = await checked(world(), uses('{command: no-such-harness}'));
    const io = world();
    put(io.dir, 'plain.txt', 'x');
    const plain = await checked(io, uses('{command: ./plain.txt}'));

    for (const { code, of } of [missing, plain]) {
      expect(code).toBe(1);
      expect(of('AGENT_INVOCATION_FAILED')).toMatchObject([{ level: 'error', group: 'Steps', line: 5 }]);
    }
  });

  test('is not looked up when no step uses it', async () => {
    const io = world();
    io.program('codex', '#!/bin/sh\necho 1\n');

    expect((await checked(io, 'executors: {e: {command: no-such-harness}}')).steps).toEqual([]);
  });

  test('causes a warning when its env refers to an unset variable', async () => {
    const io = world();
    io.program('harness', '#!/bin/sh\n');

    const { of } = await checked(io, uses('{command: harness, env: {A: $NO_SUCH_NAME}}'));

    expect(of('variable_unseen')).toMatchObject([
      { level: 'warning', message: expect.stringContaining('$NO_SUCH_NAME') },
    ]);
  });
});

test('an unusable entry in the capabilities folders is a warning', async () => {
  const io = world();
  const root = '.baton/capabilities';
  put(
    io.dir,
    `${root}/executors/runner/executor.yaml`,
    'name: runner\nversion: 1.0.0\ndescription: d\nsupportedTypes: [skill]\nentryPoint: index.js\nauthor: a\n',
  );
  put(io.dir, `${root}/executors/runner/index.js`, '');
  put(
    io.dir,
    `${root}/skill/good/capability.yaml`,
    'name: good\ntype: skill\nversion: 1.0.0\ndescription: d\nauthor: a\n',
  );
  mkdirSync(join(io.dir, root, 'executors/broken'), { recursive: true });

  const { of, findings } = await checked(io, 'steps: [{id: a, kind: capability, type: skill, name: good}]');

  expect(of('capability_problem'), JSON.stringify(findings)).toMatchObject([
    { level: 'warning', group: 'Steps', message: expect.stringContaining('broken') },
  ]);
});
