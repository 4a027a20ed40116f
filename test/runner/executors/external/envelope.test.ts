import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  buildEnvelope,
  type EnvelopeInput,
  EnvelopePipe,
  jobOf,
  taskOf,
} from '../../../../runner/executors/external/envelope.js';
import type { JsonObject } from '../../../../src/domain/json.js';
import type { ActionStep } from '../../../../src/domain/steps/plan.js';
import { issue } from '../../../support/builders.js';
import { forms, realClock } from '../../contain/workbench.js';
import { action, bash, externalStep } from './external-step.js';

const ISSUE = issue({ id: 'abc', identifier: 'ABC-1', title: 'Make it so', description: 'Now.' });
const FACTS = { issue: ISSUE, trackerKind: 'linear', workspace: '/work/ABC-1' };
const STEP = { id: 'publish', timeoutMs: 1_800_000, idempotencyKey: null };
const actionStep = (id: string, changes: Partial<ActionStep> = {}): ActionStep => ({
  ...{ shape: 'action', id, place: 'WORKFLOW.md:1:1', when: null, outputTo: null, retry: null },
  ...{ timeoutMs: null, idempotencyKey: null, action: action(), ...changes },
});

const envelope = (parts: Partial<EnvelopeInput> = {}) =>
  buildEnvelope({ step: STEP, action: action(), skills: [], job: null, task: null, ...parts });

test('S0-19 S0-20 S0-21 S0-25 S0-26 S0-27 S0-28 S0-65 version 1 has exactly these members in this order', () => {
  const input = { task_id: 'abc', summary: 'done' };
  const given = action({ input, description: 'Publishes', inputSchema: { type: 'object' }, memory: { seen: [1] } });

  const step = actionStep('publish', { action: action({ model: 'm-big' }), timeoutMs: 1_800_000 });
  const built = envelope({ action: given, job: jobOf('run_1', [step]), task: taskOf(input, FACTS) });

  expect(JSON.stringify(built, null, 1)).toBe(
    JSON.stringify(
      {
        schemaVersion: 1,
        activity: {
          id: 'publish',
          spec_type: 'external',
          description: 'Publishes',
          input_schema_json: { type: 'object' },
          output_schema_json: {},
          spec_config: {
            executor: 'acme',
            timeout_seconds: 1800,
            tools: [],
            allowed_programs: [],
            skills: [],
            env_set: {},
          },
        },
        input: { task_id: 'abc', summary: 'done' },
        skills: [],
        memory: { seen: [1] },
        job: {
          id: 'run_1',
          state: 'running',
          steps: [
            {
              target_type: 'activity',
              target_id: 'publish',
              agent_cli: 'acme',
              model: 'm-big',
              timeout_seconds: 1800,
            },
          ],
        },
        task: {
          id: 'abc',
          title: 'Make it so',
          description: 'Now.',
          acceptance_criteria: [],
          plan: '',
          context_files: [],
          external_refs: [{ system: 'linear', id: 'ABC-1' }],
          workspace_path: '/work/ABC-1',
          repo_root: null,
        },
      },
      null,
      1,
    ),
  );
});

test('S0-22 S0-24 S0-25 S0-27 S0-30 outside a run there is no job and no task, and skills and memory are empty', () => {
  const built = envelope();

  expect(Object.keys(built)).toEqual(['schemaVersion', 'activity', 'input', 'skills', 'memory']);
  expect(built).toMatchObject({ input: {}, skills: [], memory: {} });
});

test('S0-26 S0-30 a step of a job without model and time limit omits both', () => {
  const { steps } = jobOf('run_1', [actionStep('publish')]);

  expect(steps).toEqual([{ target_type: 'activity', target_id: 'publish', agent_cli: 'acme' }]);
});

test('S0-26 a job has all steps of the run, those inside of other steps too, in the order of the file', () => {
  const agent = { kind: 'agent', backend: 'cli', prompt: { kind: 'body' }, maxTurns: 1, session: null } as never;
  const llm = { kind: 'llm', model: 'm-small', prompt: '', maxTokens: null, temperature: null, stop: null } as const;
  const shape = { place: '', when: null, outputTo: null, join: 'all' } as const;
  const parallel = {
    ...shape,
    shape: 'parallel',
    id: 'both',
    branches: [[actionStep('b')], [actionStep('c')]],
  } as const;

  const { steps } = jobOf('run_1', [
    actionStep('a', { action: agent }),
    parallel,
    actionStep('d', { action: llm, timeoutMs: 5_000 }),
  ]);

  expect(steps.map(({ target_id, agent_cli }) => `${target_id} ${agent_cli}`)).toEqual([
    'a codex',
    'b acme',
    'c acme',
    'd llm',
  ]);
  expect(steps[3]).toMatchObject({ model: 'm-small', timeout_seconds: 5 });
});

test('S0-21 the configuration of the step is in spec_config', () => {
  const given = action({
    ...{ model: 'm-big', tools: ['git'], allowedPrograms: ['make'], skills: ['a.md'], envSet: { STAGE: 'prod' } },
  });

  const { activity } = envelope({ action: given, step: { ...STEP, idempotencyKey: 'AB-1' } });

  expect(activity.spec_config).toEqual({
    executor: 'acme',
    model: 'm-big',
    timeout_seconds: 1800,
    idempotency_key: 'AB-1',
    tools: ['git'],
    allowed_programs: ['make'],
    skills: ['a.md'],
    env_set: { STAGE: 'prod' },
  });
});

describe('S0-27 the task', () => {
  test.each([['abc'], ['ABC-1'], [' abc ']])('is the issue of the run when the input says %j', (name) => {
    expect(taskOf({ task_id: name }, FACTS)).toMatchObject({ id: 'abc', title: 'Make it so' });
  });

  test.each<[JsonObject]>([[{}], [{ task_id: '' }], [{ task_id: '  ' }], [{ task_id: null }], [{ other: 'abc' }]])(
    'is none when the input is %j',
    (input) => {
      expect(taskOf(input, FACTS)).toBeNull();
    },
  );

  test('may be named by a number when the id is a number', () => {
    const numbered = { ...FACTS, issue: issue({ id: '7', description: null }) };

    expect(taskOf({ task_id: 7 }, numbered)).toMatchObject({ id: '7', description: '' });
  });

  test.each([['XYZ-9'], [7], [true], [['abc']], [{ id: 'abc' }]])('S0-29 is refused when the input says %j', (name) => {
    expect(() => taskOf({ task_id: name }, FACTS)).toThrow(
      expect.objectContaining({ code: 'AGENT_INVOCATION_FAILED', message: expect.stringContaining('ABC-1') }),
    );
  });

  test('is never read from inherited properties', () => {
    const input = JSON.parse('{"__proto__": {"task_id": "XYZ-9"}}') as JsonObject;

    expect(taskOf(input, FACTS)).toBeNull();
    expect(JSON.stringify(envelope({ action: action({ input }) }))).toContain('"__proto__":{"task_id":"XYZ-9"}');
  });
});

test('S0-17 any envelope is one JSON object that survives a round trip', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const input = value as JsonObject;

      const read = JSON.parse(JSON.stringify(envelope({ action: action({ input, memory: input }) })));

      expect(read.input).toEqual(JSON.parse(JSON.stringify(input)));
      expect(read.memory).toEqual(JSON.parse(JSON.stringify(input)));
    }),
  );
});

const node = (text: string) => ({ command: process.execPath, args: ['-e', text] });

describe.each(forms)('with isolation %s', (form) => {
  const isolation = form === 'none' ? 'none' : 'auto';

  describe.each([
    ['small', 10],
    ['large', 300_000],
  ])('S0-32 S0-34 a program that reads a %s envelope completely is never reported as not reading it', (_, bytes) => {
    test.each([
      ['to its end', bash('exec cat >/dev/null')],
      ['and exits with the last byte, before the end', node(EXITS_EARLY)],
      ['in one go', node('require("fs").readFileSync(0)')],
      ['in a child of its own', bash('cat >/dev/null | true; cat <&0 >/dev/null; (cat >/dev/null)')],
      ['and leaves a process behind that holds its stdin', bash('cat >/dev/null; sleep 3600 >/dev/null 2>&1 <&0 &')],
      ['and closes its stdin before it works', bash('cat >/dev/null; exec <&-; sleep 0.02')],
    ])('%s', async (_name, definition) => {
      const ended = Array.from({ length: 4 }, async () => {
        const step = await externalStep({ isolation, definition });
        return step.run({ input: { padding: 'x'.repeat(bytes) } });
      });

      expect(await Promise.all(ended)).toMatchObject(ended.map(() => ({ state: 'success' })));
    });
  });
});

const EXITS_EARLY = `
  let text = '';
  process.stdin.on('data', (chunk) => {
    text += chunk;
    try { JSON.parse(text); } catch { return; }
    process.exit(0);
  });`;

test('S0-32 bytes that were written count as read, even when the stream breaks before its end is sent', async () => {
  const stdin = new Writable({ write: (_chunk, _encoding, taken) => taken(), final: () => {} });
  const pipe = new EnvelopePipe({ stdin });
  pipe.end(Buffer.from('{}'));
  await setImmediate();

  stdin.destroy();

  expect(await pipe.wasRead(realClock)).toBe(true);
});

test('S0-32 bytes that were not written count as unread', async () => {
  const stdin = new Writable({ write: () => {} });
  const pipe = new EnvelopePipe({ stdin });
  pipe.end(Buffer.from('{}'));
  await setImmediate();

  stdin.destroy();

  expect(await pipe.wasRead(realClock)).toBe(false);
});
