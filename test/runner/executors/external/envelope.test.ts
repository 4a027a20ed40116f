import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildEnvelope, type EnvelopeParts, jobOf, taskOf } from '../../../../runner/executors/external/envelope.js';
import type { JsonObject } from '../../../../src/domain/json.js';
import { issue } from '../../../support/builders.js';
import { action } from './external-step.js';

const ISSUE = issue({ id: 'abc', identifier: 'ABC-1', title: 'Make it so', description: 'Now.' });
const FACTS = { issue: ISSUE, trackerKind: 'linear', workspace: '/work/ABC-1' };
const JOB = { runId: 'run_1', stepId: 'publish', executor: 'acme', model: 'm-big', timeoutMs: 1_800_000 };

const envelope = (parts: Partial<EnvelopeParts> = {}) =>
  buildEnvelope({ stepId: 'publish', action: action(), skills: [], job: null, task: null, ...parts });

test('S0-19 S0-20 S0-21 S0-25 S0-26 S0-27 S0-28 S0-65 the whole of version 1, member by member and in this order', () => {
  const input = { task_id: 'abc', summary: 'done' };
  const given = action({ input, description: 'Publishes', inputSchema: { type: 'object' }, memory: { seen: [1] } });

  const built = envelope({ action: given, job: jobOf(JOB), task: taskOf(input, FACTS) });

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
          spec_config: {},
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

test('S0-22 S0-24 S0-25 S0-27 S0-30 outside a run and without a task the members are left out, and skills and memory are empty', () => {
  const built = envelope();

  expect(Object.keys(built)).toEqual(['schemaVersion', 'activity', 'input', 'skills', 'memory']);
  expect(built).toMatchObject({ input: {}, skills: [], memory: {} });
});

test('S0-26 S0-30 a step without a model and a limit says nothing of them', () => {
  const { steps } = jobOf({ ...JOB, model: null, timeoutMs: null });

  expect(steps).toEqual([{ target_type: 'activity', target_id: 'publish', agent_cli: 'acme' }]);
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

  test('may be named by a number where the id is one', () => {
    const numbered = { ...FACTS, issue: issue({ id: '7', description: null }) };

    expect(taskOf({ task_id: 7 }, numbered)).toMatchObject({ id: '7', description: '' });
  });

  test.each([['XYZ-9'], [7], [true], [['abc']], [{ id: 'abc' }]])('S0-29 is refused when the input says %j', (name) => {
    expect(() => taskOf({ task_id: name }, FACTS)).toThrow(
      expect.objectContaining({ code: 'AGENT_INVOCATION_FAILED', message: expect.stringContaining('ABC-1') }),
    );
  });

  test('is not taken from what every object inherits', () => {
    const input = JSON.parse('{"__proto__": {"task_id": "XYZ-9"}}') as JsonObject;

    expect(taskOf(input, FACTS)).toBeNull();
    expect(JSON.stringify(envelope({ action: action({ input }) }))).toContain('"__proto__":{"task_id":"XYZ-9"}');
  });
});

test('S0-17 whatever is in it, an envelope is one JSON object that comes out as it went in', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const input = value as JsonObject;

      const read = JSON.parse(JSON.stringify(envelope({ action: action({ input, memory: input }) })));

      expect(read.input).toEqual(JSON.parse(JSON.stringify(input)));
      expect(read.memory).toEqual(JSON.parse(JSON.stringify(input)));
    }),
  );
});
