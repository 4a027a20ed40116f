import { expect, test } from 'vitest';
import type { Capability, CapabilityExecutor, CapabilityIndex } from '../../../src/domain/capabilities.js';
import { warningsOf } from '../workflow-fixture.js';
import { faultOf, loadSteps } from './plan-fixture.js';

const base = { version: '1', description: '', dir: '/d', source: 'project' as const };
const executor = (name: string, supportedTypes: string[]): CapabilityExecutor => ({
  ...base,
  name,
  supportedTypes,
  entryPoint: 'index.js',
  author: '',
});
const capability = (type: string, name: string, more: Partial<Capability> = {}): Capability => ({
  ...base,
  name,
  type,
  inputs: [],
  executor: null,
  config: {},
  ...more,
});
const INDEX: CapabilityIndex = {
  executors: [executor('skills', ['skill'])],
  capabilities: [
    capability('skill', 'lint-check', {
      inputs: [
        { name: 'files', type: 'array', required: true },
        { name: 'level', type: 'number', required: true, default: 1 },
        { name: 'note', type: 'string', required: false },
      ],
    }),
    capability('skill', 'pinned', { executor: 'skils' }),
    capability('power', 'orphan'),
  ],
  problems: [
    { level: 'error', text: '/p/executors/powers/executor.yaml has no entryPoint for power' },
    { level: 'warning', text: 'power is odd' },
    { level: 'error', text: 'something about talents' },
  ],
  brokenExecutors: [],
};
const capabilities = async () => INDEX;
const step = (keys: string) => `steps: [{id: a, kind: capability, ${keys}}]`;
const fault = (keys: string) => faultOf(step(keys), { capabilities });

test('an existing capability with all required inputs is accepted', async () => {
  const { workflow } = await loadSteps(step('type: skill, name: lint-check, params: {files: []}'), { capabilities });

  expect(workflow.plan.steps).toHaveLength(1);
  expect(workflow.warnings).toEqual([]);
});

test('an unknown capability is CAPABILITY_NOT_FOUND with the nearest name', async () => {
  const error = await fault('type: skill, name: lint-chek');

  expect(error.code).toBe('CAPABILITY_NOT_FOUND');
  expect(error.message).toBe(
    'WORKFLOW.md:3:54 step "a": there is no capability "lint-chek" of type "skill"; did you mean lint-check?',
  );
});

test('the error mentions a capability of the same name and another type', async () => {
  expect((await fault('type: skill, name: orphan')).message).toContain('there is one of type power');
});

test('a type without an executor is EXECUTOR_NOT_FOUND with the executors that are unusable', async () => {
  const error = await fault('type: power, name: orphan');

  expect(error.code).toBe('EXECUTOR_NOT_FOUND');
  expect(error.message).toContain('no executor runs capabilities of type "power"');
  expect(error.message).toContain('/p/executors/powers/executor.yaml has no entryPoint for power');
  expect(error.message).not.toMatch(/odd|talents/);
});

test.each([
  ['of its type', 'type: power, name: orphan', { names: ['p'], types: ['power'] }],
  ['that nothing can be read of', 'type: power, name: orphan', { names: ['p'], types: null }],
  ['that the capability names', 'type: skill, name: pinned', { names: ['skils'], types: null }],
])('a malformed executor %s is INVALID_ACTION_BLOCK', async (_, keys, broken) => {
  const index = { ...INDEX, brokenExecutors: [{ ...broken, text: '/p/executor.yaml is not valid YAML' }] };

  const error = await faultOf(step(keys), { capabilities: async () => index });

  expect(error.code).toBe('INVALID_ACTION_BLOCK');
  expect(error.message).toContain('/p/executor.yaml is not valid YAML');
});

test('a malformed executor of another type changes nothing', async () => {
  const broken = { names: ['p'], types: ['talent'], text: '/p/executor.yaml has no `name`' };
  const capabilities = async () => ({ ...INDEX, brokenExecutors: [broken] });

  expect((await faultOf(step('type: power, name: orphan'), { capabilities })).code).toBe('EXECUTOR_NOT_FOUND');
});

test('a missing pinned executor is EXECUTOR_NOT_FOUND with the nearest name', async () => {
  const error = await fault('type: skill, name: pinned');

  expect(error.code).toBe('EXECUTOR_NOT_FOUND');
  expect(error.message).toContain('names the executor "skils", which does not exist; did you mean skills?');
});

test('a required input missing from params is INVALID_REQUEST unless it has a default', async () => {
  const error = await fault('type: skill, name: lint-check, params: {note: x}');

  expect(error.code).toBe('INVALID_REQUEST');
  expect(error.message).toBe(
    'WORKFLOW.md:3:74 step "a": the capability "lint-check" requires files (array); add it to params',
  );
});

test('capabilities are searched in the folder of the workflow, and only when a step uses one', async () => {
  const asked: string[] = [];
  const find = async (dir: string) => {
    asked.push(dir);
    return INDEX;
  };

  await loadSteps('steps: [{id: a, kind: agent}]', { capabilities: find });
  const { workflow } = await loadSteps(step('type: skill, name: lint-check, params: {files: []}'), {
    capabilities: find,
  });

  expect(asked).toEqual([workflow.dir]);
});

test('without a capability lookup, capability steps are not checked', async () => {
  expect((await loadSteps(step('type: x, name: y'))).workflow.plan.steps).toHaveLength(1);
});

test('an unknown input of a capability is a warning with the nearest name', async () => {
  const step = '{ id: a, kind: capability, type: skill, name: lint-check, params: { files: [], levl: 2 } }';
  const { workflow } = await loadSteps(`steps:\n  - ${step}`, { capabilities: async () => INDEX });

  expect(warningsOf(workflow)).toEqual([
    expect.stringMatching(/:4:\d+ step "a": the capability "lint-check" has no input "levl"; did you mean level\?$/),
  ]);
});
