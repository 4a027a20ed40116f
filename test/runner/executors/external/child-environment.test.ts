import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bash, externalStep, script } from './external-step.js';

const KEEPS_ALL = { command: 'bash', args: [script('keeps-all.sh')] };

describe('the environment of the child', () => {
  const inherited = { SECRET_TOKEN: 'tracker', LANG: 'C', OTHER: 'other', ACME_KEY: 'key' };
  const runtime = (env: 'allowlist' | 'inherit') => ({ config: { runtime: { env } } });

  test('S0-48 S0-58 under the allowlist policy only what is allowed goes in, and the root of the workflow', async () => {
    const step = await externalStep({ definition: KEEPS_ALL, env: inherited, workflow: runtime('allowlist') });

    await step.run();

    const { env } = step.kept();
    expect(env).toMatchObject({ LANG: 'C', BATON_RUN_ID: 'run-1', ORBIT_ROOT: step.project });
    expect(Object.keys(env)).not.toContain('OTHER');
    expect(Object.keys(env)).not.toContain('SECRET_TOKEN');
  });

  test('S0-48 S0-58 under the inherit policy everything but the secrets of the tracker', async () => {
    const workflow = { ...runtime('inherit'), secretNames: ['SECRET_TOKEN'] };
    const step = await externalStep({ definition: KEEPS_ALL, env: inherited, workflow });

    await step.run();

    const { env } = step.kept();
    expect(env).toMatchObject({ LANG: 'C', OTHER: 'other' });
    expect(Object.keys(env)).not.toContain('SECRET_TOKEN');
    expect(Object.keys(env)).not.toContain('ORBIT_ROOT');
  });

  test('S0-58 a secret goes in when the operator puts it there', async () => {
    const workflow = { secretNames: ['SECRET_TOKEN'] };
    const definition = { ...KEEPS_ALL, env: { LINEAR: '$SECRET_TOKEN' } };
    const step = await externalStep({ definition, env: inherited, workflow });

    await step.run();

    expect(step.kept().env).toMatchObject({ LINEAR: 'tracker' });
  });

  test('S0-07 S0-08 S0-49 S0-50 S0-51 S0-54 S0-59 arguments and variables arrive as they were built', async () => {
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

  test('S0-54 the state folder is one that the child can write, below the TMPDIR of the run', async () => {
    const step = await externalStep({ definition: bash('cat >/dev/null; echo kept >"$ORBIT_STATE_DIR/note"; pwd') });

    expect(await step.run()).toMatchObject({ state: 'success' });

    const stateDir = join(step.context.tmpDir, 'orbit-state');
    expect(existsSync(join(stateDir, 'note'))).toBe(true);
    expect(statSync(stateDir).mode & 0o777).toBe(0o700);
    expect(step.audits).toMatchObject([{ data: { stdout: `${step.workspace}\n` } }]);
  });

  test('S0-54 something else in place of the state folder fails the step before the start', async () => {
    const step = await externalStep();
    writeFileSync(join(step.context.tmpDir, 'orbit-state'), '');

    expect(await step.run()).toMatchObject({ error: { code: 'AGENT_INVOCATION_FAILED' } });
    expect(step.started).toEqual([]);
  });

  test('S0-57 a value that is wholly a reference comes from the daemon; unset it is empty, with a warning', async () => {
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

  test('S0-57 env_set is data of the run: a reference in it stays text, or an issue could ask for any variable', async () => {
    const step = await externalStep({ definition: KEEPS_ALL, env: inherited });

    await step.run({ envSet: { TITLE: '$SECRET_TOKEN' } });

    expect(step.kept().env).toMatchObject({ TITLE: '$SECRET_TOKEN' });
    expect(step.secretsRead).toEqual([]);
  });
});
