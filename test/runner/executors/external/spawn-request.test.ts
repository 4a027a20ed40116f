import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  buildSpawnRequest,
  orbitVariables,
  type RunFacts,
  type SpawnInput,
} from '../../../../runner/executors/external/spawn-request.js';
import { action, bash, definition, externalStep, script } from './external-step.js';

const request = (parts: Partial<SpawnInput> = {}) =>
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

  test('S0-07 S0-59 the arguments of the definition come first and in order, then the flag and the model', () => {
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

  test('S0-61 the model is passed unchanged', () => {
    expect(request({ definition: acme, model: 'strong' }).args.at(-1)).toBe('strong');
    expect(request({ definition: acme, model: 'Vendor/Model:v1 ' }).args.at(-1)).toBe('Vendor/Model:v1 ');
  });
});

test('S0-08 S0-55 S0-56 env of the definition wins over injected variables, and env_set over both', () => {
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

  test('S0-49 S0-51 the name of the definition and the id of the step are always set', () => {
    expect(variables()).toEqual({ ORBIT_AGENT_NAME: 'acme', ORBIT_ACTIVITY_ID: 'publish' });
  });

  test('S0-50 the model is set only when there is one', () => {
    expect(variables({ model: 'm-big' })).toMatchObject({ ORBIT_AGENT_MODEL: 'm-big' });
    expect(variables({ model: ' ' })).not.toHaveProperty('ORBIT_AGENT_MODEL');
  });

  test('S0-52 S0-53 tools and programs are set only when the step declares some, joined by commas', () => {
    expect(variables({ tools: ['read', 'write'], allowedPrograms: ['git'] })).toMatchObject({
      ORBIT_ACTIVITY_TOOLS: 'read,write',
      ORBIT_PROC_ALLOWED_PROGRAMS: 'git',
    });
    expect(Object.keys(variables())).not.toContain('ORBIT_ACTIVITY_TOOLS');
    expect(Object.keys(variables())).not.toContain('ORBIT_PROC_ALLOWED_PROGRAMS');
  });

  test('S0-54 run variables are set only inside a run, and the task only when the input names it', () => {
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

const KEEPS_ALL = { command: 'bash', args: [script('keeps-all.sh')] };

describe('the environment of the child', () => {
  const inherited = { SECRET_TOKEN: 'tracker', LANG: 'C', OTHER: 'other', ACME_KEY: 'key' };
  const runtime = (env: 'allowlist' | 'inherit') => ({ config: { runtime: { env } } });

  test('S0-48 S0-58 the allowlist policy passes only allowed variables, and the root of the workflow', async () => {
    const step = await externalStep({ definition: KEEPS_ALL, env: inherited, workflow: runtime('allowlist') });

    await step.run();

    const { env } = step.kept();
    expect(env).toMatchObject({ LANG: 'C', BATON_RUN_ID: 'run-1', ORBIT_ROOT: step.project });
    expect(Object.keys(env)).not.toContain('OTHER');
    expect(Object.keys(env)).not.toContain('SECRET_TOKEN');
  });

  test('S0-48 S0-58 the inherit policy passes everything but the secrets of the tracker', async () => {
    const workflow = { ...runtime('inherit'), secretNames: ['SECRET_TOKEN'] };
    const step = await externalStep({ definition: KEEPS_ALL, env: inherited, workflow });

    await step.run();

    const { env } = step.kept();
    expect(env).toMatchObject({ LANG: 'C', OTHER: 'other' });
    expect(Object.keys(env)).not.toContain('SECRET_TOKEN');
    expect(Object.keys(env)).not.toContain('ORBIT_ROOT');
  });

  test('S0-58 a secret is passed when the operator names it', async () => {
    const workflow = { secretNames: ['SECRET_TOKEN'] };
    const definition = { ...KEEPS_ALL, env: { LINEAR: '$SECRET_TOKEN' } };
    const step = await externalStep({ definition, env: inherited, workflow });

    await step.run();

    expect(step.kept().env).toMatchObject({ LINEAR: 'tracker' });
  });

  test('S0-07 S0-08 S0-49 S0-50 S0-51 S0-54 S0-59 arguments and variables arrive unchanged', async () => {
    const definition = { ...KEEPS_ALL, args: [...KEEPS_ALL.args, 'a b', '$(touch x)'], modelFlag: '--model' };
    const step = await externalStep({ definition: { ...definition, env: { A: ' 1\n' } }, step: { index: 4 } });

    await step.run({ model: 'm', input: { task_id: 'id-1' }, envSet: { TITLE: '`touch y`\n"' } });

    const { env, args } = step.kept();
    expect(args).toEqual(['a b', '$(touch x)', '--model', 'm']);
    expect(env).toMatchObject({
      A: ' 1\n',
      TITLE: '`touch y`\n"',
      ORBIT_AGENT_NAME: 'acme',
      ORBIT_AGENT_MODEL: 'm',
      ORBIT_ACTIVITY_ID: 'the-step',
      ORBIT_RUN_ID: 'run-1',
      ORBIT_STEP_INDEX: '4',
      ORBIT_TASK_ID: 'id-1',
      ORBIT_ACTIVE_TASK_ID: 'id-1',
      ORBIT_MANAGED_RUN_CONTEXT: '1',
    });
    expect(existsSync(join(step.workspace, 'x')) || existsSync(join(step.workspace, 'y'))).toBe(false);
  });

  test('S0-54 the state folder is writable and below the TMPDIR of the run', async () => {
    const step = await externalStep({ definition: bash('cat >/dev/null; echo kept >"$ORBIT_STATE_DIR/note"; pwd') });

    expect(await step.run()).toMatchObject({ state: 'success' });

    const stateDir = join(step.context.tmpDir, 'orbit-state');
    expect(existsSync(join(stateDir, 'note'))).toBe(true);
    expect(statSync(stateDir).mode & 0o777).toBe(0o700);
    expect(step.audits).toMatchObject([{ data: { stdout: `${step.workspace}\n` } }]);
  });

  test('S0-54 a file at the path of the state folder fails the step before the start', async () => {
    const step = await externalStep();
    writeFileSync(join(step.context.tmpDir, 'orbit-state'), '');

    expect(await step.run()).toMatchObject({ error: { code: 'AGENT_INVOCATION_FAILED' } });
    expect(step.started).toEqual([]);
  });

  test('S0-57 a value that is a reference is read from the daemon; an unset one is empty, with a warning', async () => {
    const env = { KEY: '$ACME_KEY', GONE: '$NO_SUCH_VARIABLE', PART: 'a$ACME_KEY', COST: '$5', CURLY: '${ACME_KEY}' };
    const step = await externalStep({ definition: { ...KEEPS_ALL, env }, env: inherited });

    await step.run();

    expect(step.kept().env).toMatchObject({
      KEY: 'key',
      GONE: '',
      PART: 'a$ACME_KEY',
      COST: '$5',
      CURLY: '${ACME_KEY}',
    });
    expect(step.secretsRead).toEqual(['$ACME_KEY', '$NO_SUCH_VARIABLE']);
    expect(step.warnings).toMatchObject([
      { fields: { executor: 'acme', name: 'GONE', refersTo: '$NO_SUCH_VARIABLE', action: expect.any(String) } },
    ]);
  });

  test('S0-57 a reference in env_set stays text, because it could come from an issue', async () => {
    const step = await externalStep({ definition: KEEPS_ALL, env: inherited });

    await step.run({ envSet: { TITLE: '$SECRET_TOKEN' } });

    expect(step.kept().env).toMatchObject({ TITLE: '$SECRET_TOKEN' });
    expect(step.secretsRead).toEqual([]);
  });
});
