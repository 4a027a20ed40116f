import { describe, expect, test } from 'vitest';
import {
  buildSpawnRequest,
  orbitVariables,
  type RunFacts,
  type SpawnParts,
} from '../../../../runner/executors/external/spawn-request.js';
import { action, definition } from './external-step.js';

const request = (parts: Partial<SpawnParts> = {}) =>
  buildSpawnRequest({
    definition: definition(),
    model: null,
    environment: {},
    definitionEnv: {},
    envSet: {},
    ...parts,
  });

describe('arguments', () => {
  const acme = definition({ args: ['run', '--json', ''], modelFlag: '--model' });

  test('S0-07 S0-59 those of the definition come first and in order, then the flag and the model', () => {
    expect(request({ definition: acme, model: 'm-big' }).args).toEqual(['run', '--json', '', '--model', 'm-big']);
  });

  test.each([
    [null, 'm-big'],
    ['', 'm-big'],
    [' ', 'm-big'],
    ['--model', null],
    ['--model', ''],
    ['--model', ' \t'],
  ])('S0-60 with flag %j and model %j nothing is appended', (modelFlag, model) => {
    expect(request({ definition: { ...acme, modelFlag }, model }).args).toEqual(['run', '--json', '']);
  });

  test('S0-61 the model goes out as it is written, whatever it is called', () => {
    expect(request({ definition: acme, model: 'strong' }).args.at(-1)).toBe('strong');
    expect(request({ definition: acme, model: 'Vendor/Model:v1 ' }).args.at(-1)).toBe('Vendor/Model:v1 ');
  });
});

test('S0-08 S0-55 S0-56 env of the definition wins over what is injected, and env_set over both', () => {
  const { env } = request({
    environment: { A: 'host', B: 'host', C: 'host', ORBIT_AGENT_NAME: 'acme' },
    definitionEnv: { B: 'definition', C: 'definition', ORBIT_AGENT_NAME: 'mine' },
    envSet: { C: 'step', D: 'step' },
  });

  expect(env).toEqual({ A: 'host', B: 'definition', C: 'step', D: 'step', ORBIT_AGENT_NAME: 'mine' });
});

test('S0-62 S0-64 an external and a direct_agent definition build the same request, and sandbox keys change nothing', () => {
  const common = { command: '/opt/acme/harness', args: ['run'], env: { A: '1' }, modelFlag: '-m' };
  const inert = { sandbox: 'workspace-write', allow_fallback: true };
  const parts = { model: 'm', environment: { PATH: '/bin' }, definitionEnv: common.env, envSet: { B: '2' } };

  const external = request({ ...parts, definition: definition({ ...common, type: 'external' }) });
  const direct = request({ ...parts, definition: definition({ ...common, type: 'direct_agent', ...inert }) });

  expect(JSON.stringify(direct)).toBe(JSON.stringify(external));
  expect(external).toEqual({
    command: '/opt/acme/harness',
    args: ['run', '-m', 'm'],
    env: { PATH: '/bin', A: '1', B: '2' },
  });
});

describe('variables of the protocol', () => {
  const RUN: RunFacts = { id: 'run_1', stepIndex: 3, stateDir: '/tmp/s', root: '/project', taskId: 'abc' };
  const variables = (changes: Parameters<typeof action>[0] = {}, run: RunFacts | null = null) =>
    orbitVariables({ executor: 'acme', stepId: 'publish', action: action(changes), run });

  test('S0-49 S0-51 the name of the definition and the id of the step are always there', () => {
    expect(variables()).toEqual({ ORBIT_AGENT_NAME: 'acme', ORBIT_ACTIVITY_ID: 'publish' });
  });

  test('S0-50 the model only when there is one', () => {
    expect(variables({ model: 'm-big' })).toMatchObject({ ORBIT_AGENT_MODEL: 'm-big' });
    expect(variables({ model: ' ' })).not.toHaveProperty('ORBIT_AGENT_MODEL');
  });

  test('S0-52 S0-53 tools and programs only when the step declares some, joined by commas', () => {
    expect(variables({ tools: ['read', 'write'], allowedPrograms: ['git'] })).toMatchObject({
      ORBIT_ACTIVITY_TOOLS: 'read,write',
      ORBIT_PROC_ALLOWED_PROGRAMS: 'git',
    });
    expect(Object.keys(variables())).not.toContain('ORBIT_ACTIVITY_TOOLS');
    expect(Object.keys(variables())).not.toContain('ORBIT_PROC_ALLOWED_PROGRAMS');
  });

  test('S0-54 those of a run only inside a run, and the task only when the input names it', () => {
    expect(variables({}, RUN)).toEqual({
      ORBIT_AGENT_NAME: 'acme',
      ORBIT_ACTIVITY_ID: 'publish',
      ORBIT_RUN_ID: 'run_1',
      ORBIT_MANAGED_RUN_CONTEXT: '1',
      ORBIT_STEP_INDEX: '3',
      ORBIT_STATE_DIR: '/tmp/s',
      ORBIT_ROOT: '/project',
      ORBIT_TASK_ID: 'abc',
      ORBIT_ACTIVE_TASK_ID: 'abc',
    });
    const without = Object.keys(variables({}, { ...RUN, taskId: null, root: null }));
    expect(without.filter((name) => /TASK|ROOT/.test(name))).toEqual([]);
  });
});
