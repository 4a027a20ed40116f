import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BatonError } from '../../../src/domain/errors.js';
import { problemsOf } from '../../../src/domain/workflow.js';
import { parseWorkflow } from '../../../src/workflow/load-workflow.js';
import { optionsWith } from '../workflow-fixture.js';
import { definition, faultOf } from './plan-fixture.js';

const LLM = (id: string) => `{id: ${id}, kind: llm, model: m, prompt: p}`;
const AUTO = '{id: z, kind: agent, backend: auto}';

test('all errors of settings, steps, services, executors and definitions are reported together, each with its position and code', async () => {
  const error = await faultOf(
    `agent: { max_turns: many }
services:
  tools: { base_url: "ftp://x" }
executors:
  bad: { command: x, arg: [] }
inputs: { a: "\${steps.x.output}" }
activities:
  old: { schemaVersion: 1, kind: agent }
steps:
  - { id: one, kind: llm, model: m, prompt: "\${issue.titel}" }
  - { id: one, kind: agent, session: s, whn: 1 }
  - { id: three, kind: external, executor: nobody, when: "1 =" }
  - { id: four, target: "activity:gone" }
  - { id: five, kind: agent, backend: http }
codx: {}`,
    {
      backendFlag: 'x',
      project: { '.baton/executors/wrong.yaml': definition('other') },
    },
  );
  const problems = problemsOf(error);

  expect(error.code).toBe('invalid_workflow_config');
  expect(problems.map(({ code, file, at }) => `${file} ${at.line}:${at.column} ${code}`)).toEqual([
    'null 1:1 invalid_backend',
    'WORKFLOW.md 3:21 invalid_workflow_config',
    'WORKFLOW.md 5:22 invalid_workflow_config',
    'WORKFLOW.md 7:22 invalid_workflow_config',
    'WORKFLOW.md 8:14 step_data_error',
    'WORKFLOW.md 10:10 JobValidation',
    'WORKFLOW.md 12:22 JobValidation',
    'WORKFLOW.md 12:45 step_data_error',
    'WORKFLOW.md 13:11 JobValidation',
    'WORKFLOW.md 13:38 JobValidation',
    'WORKFLOW.md 13:41 invalid_workflow_config',
    'WORKFLOW.md 14:44 EXECUTOR_NOT_FOUND',
    'WORKFLOW.md 14:58 expression_error',
    'WORKFLOW.md 15:25 JobValidation',
    'WORKFLOW.md 16:39 UnwiredHttpTransport',
    'WORKFLOW.md 17:1 unknown_key',
    '.baton/executors/wrong.yaml 4:9 invalid_workflow_config',
  ]);
  expect(error.message.split('\n')).toHaveLength(problems.length);
  expect(error.message).toContain('WORKFLOW.md:13:38 step "one": session "s" needs backend http');
});

test('the error has the code that all problems share; a warning about an unknown key does not change it', async () => {
  const error = await faultOf('agnet: {}\nsteps: [{id: a, kind: agent, session: s}, {id: b, kind: agent, session: t}]');

  expect(error.code).toBe('JobValidation');
  expect(error.message.split('\n')).toHaveLength(3);
});

test('for arbitrary steps only BatonError is thrown', async () => {
  const key = fc.constantFrom(
    ...[
      'id',
      'kind',
      'steps',
      'loop',
      'parallel',
      'fan_out',
      'fan_in',
      'items',
      'target',
      'when',
      'break_when',
      'join',
    ],
    ...[
      'prompt',
      'session',
      'backend',
      'input',
      'args',
      'executor',
      'max_iterations',
      'max_workers',
      'retry',
      'env_set',
    ],
    ...[
      'defaults',
      'gateway',
      'base_url',
      'token',
      'tenant',
      'command',
      'env',
      'schemaVersion',
      'a',
      '__proto__',
      'toString',
    ],
  );
  const leaf = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constantFrom(
      null,
      'a',
      'agent',
      'llm',
      'tool',
      'http',
      'auto',
      'activity:a',
      '$TOKEN',
      '${issue.title}',
      '${steps.a.output}',
      '${item}',
      '${',
    ),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 6, withCrossShrink: true },
      leaf,
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 5 }),
    ),
  }));
  const top = fc.record(
    {
      steps: fc.oneof(fc.array(tree, { maxLength: 3 }), tree),
      activities: tree,
      executors: tree,
      services: tree,
      inputs: tree,
    },
    { requiredKeys: [] },
  );

  await fc.assert(
    fc.asyncProperty(top, async (settings) => {
      const bytes = Buffer.from(`---\n${JSON.stringify({ tracker: { kind: 'local' }, ...settings })}\n---\nHi`);
      const file = { path: '/nowhere/WORKFLOW.md', bytes, hash: 'h' };
      await parseWorkflow(file, optionsWith({ TOKEN: 'x' })).catch((error: unknown) => {
        if (!(error instanceof BatonError)) throw error;
      });
    }),
    { numRuns: 300 },
  );
});

test.each([
  [
    'an address',
    'services: {gateway: {base_url: "ftp://x", tenant: t, token: $TOKEN}}',
    LLM('a'),
    'base_url must begin',
  ],
  ['a missing service of several steps', '', `${LLM('a')}, ${LLM('b')}`, 'step "a": kind llm needs a service'],
  ['a definition', 'executors: {e: {comand: x}}', '{id: a, kind: external, executor: e}', 'unknown key comand'],
  ['runtime.backend', 'runtime: {backend: clli}', AUTO, 'runtime.backend must be one of'],
  [
    'an invalid setting beside a valid backend',
    'runtime: {backend: cli}\nagent: {max_turns: x}',
    AUTO,
    'agent.max_turns',
  ],
])('an error is reported once, without errors that only follow from it: %s', async (_, more, steps, part) => {
  const { message } = await faultOf(`${more}\nsteps: [${steps}]`, { env: { TOKEN: 'x' } });

  expect(message.split('\n')).toEqual([expect.stringContaining(part)]);
});

test('S1-27 an invalid variable is reported once, and no step reports a backend taken from it', async () => {
  const { message } = await faultOf(`steps: [${AUTO}]`, { env: { BATON_BACKEND: 'clii' } });

  expect(message).toBe('the variable BATON_BACKEND must be one of http, cli, auto, got "clii"');
});

test('an invalid variable name is reported as invalid', async () => {
  const { message } = await faultOf(
    'executors: {e: {command: x}}\nsteps: [{id: a, kind: external, executor: e, env_set: {A-B: x}}]',
  );

  expect(message).toContain('step "a": env_set.A-B is not a name of a variable: use letters, digits and `_`');
});
