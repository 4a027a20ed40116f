import { expect, test } from 'vitest';
import { actionOf, faultOf, loadSteps, SERVICES, stepOf, TOKEN } from './plan-fixture.js';

const AGENT = '{id: x, kind: agent}';
const fault = async (steps: string) => (await faultOf(`steps: [${steps}]`)).message;

test.each([
  ['no', '{id: a}', 'this one has none'],
  ['a second', `{id: a, kind: agent, loop: {max_iterations: 1, steps: [${AGENT}]}}`, 'this one has kind and loop'],
  [
    'a second shape as',
    `{id: a, parallel: [${AGENT}], loop: {max_iterations: 1, steps: []}}`,
    'this one has parallel and loop',
  ],
])('S1-41 a step with %s body is rejected', async (_, step, part) => {
  const error = await faultOf(`steps: [${step}]`);

  expect(error.code).toBe('JobValidation');
  expect(error.message).toContain('step "a": a step has exactly one of kind, target, parallel, fan_out, loop');
  expect(error.message).toContain(part);
});

test('S1-41 a fan_out without fan_in is rejected; an empty fan_in waits for all', async () => {
  const fan = (rest: string) => `{id: f, fan_out: {items: [1], max_workers: 1, steps: [${AGENT}]}${rest}}`;

  const error = await faultOf(`steps: [${fan('')}]`);
  const loaded = await loadSteps(`steps: [${fan(', fan_in: {}')}]`);

  expect(error.code).toBe('JobValidation');
  expect(error.message).toContain('step "f": fan_out needs a fan_in beside it; `fan_in: {}` waits for every item');
  expect(stepOf(loaded, 'f')).toMatchObject({ join: 'all', maxWorkers: 1 });
});

test('by default a fan_out has 4 workers and a parallel waits for all branches', async () => {
  const loaded = await loadSteps(
    `executors: {e: {command: x}}\nsteps:\n  - {id: f, fan_out: {items: [1], steps: [{id: a, kind: external, executor: e}]}, fan_in: {}}\n  - {id: p, parallel: [${AGENT}]}`,
  );

  expect(stepOf(loaded, 'f')).toMatchObject({ maxWorkers: 4, join: 'all' });
  expect(stepOf(loaded, 'p')).toMatchObject({ join: 'all', branches: [[{ id: 'x' }]] });
});

test.each([
  [
    '{id: l, loop: {steps: [{id: x, kind: agent}]}}',
    'step "l": loop.max_iterations is missing; it must be an integer from 1 to 1000',
  ],
  [
    `{id: l, loop: {max_iterations: 0, steps: [${AGENT}]}}`,
    'loop.max_iterations must be an integer from 1 to 1000, got 0',
  ],
  [`{id: l, loop: {max_iterations: 1001, steps: [${AGENT}]}}`, 'got 1001'],
  ['{id: l, loop: {max_iterations: 1, steps: []}}', 'loop.steps must have at least one step, got a list'],
  ['{id: l, loop: [1]}', 'loop must be a map with `max_iterations` and `steps`, got a list'],
  ['{id: p, parallel: []}', 'parallel must have at least one step'],
  ['{id: p, parallel: [[]]}', 'a branch must have at least one step'],
  [`{id: p, parallel: [${AGENT}], join: most}`, 'join must be all, any or a positive integer, got "most"'],
  [`{id: p, parallel: [${AGENT}], join: 2}`, 'join is 2, but the number of branches is 1'],
  [`{id: f, fan_out: {items: 5, steps: [${AGENT}]}, fan_in: {}}`, 'fan_out.items must be a list or one `${…}`, got 5'],
  [
    `{id: f, fan_out: {items: "a \${issue.labels}", max_workers: 1, steps: [${AGENT}]}, fan_in: {}}`,
    'items must be a list or a single `${…}`',
  ],
  [
    `{id: f, fan_out: {items: [], max_wokers: 2, steps: [${AGENT}]}, fan_in: {}}`,
    'unknown key fan_out.max_wokers; did you mean max_workers?',
  ],
  [
    `{id: l, loop: {max_iterations: 2, items: [1, 2, 3], steps: [${AGENT}]}}`,
    'there are 3 items, but max_iterations is 2',
  ],
  [`{id: l, retry: {max_attempts: 2}, loop: {max_iterations: 2, steps: [${AGENT}]}}`, 'loop steps have no key retry'],
  ['{kind: agent}', 'steps[0]: id is missing; it must be text'],
  ['{id: 1a, kind: agent}', 'id must begin with a letter'],
  ['{id: "a b", kind: agent}', 'id must begin with a letter'],
  [`{id: ${'a'.repeat(65)}, kind: agent}`, 'at most 64'],
  [
    '{id: a, kind: agnet}',
    'kind must be one of agent, external, capability, llm, tool, code, got "agnet"; did you mean agent?',
  ],
  ['{id: a, kind: agent, whn: "1 == 1"}', 'agent steps have no key whn; did you mean when?'],
  ['{id: a, kind: agent, retry: {}}', 'retry.max_attempts is missing'],
  ['{id: a, kind: agent, retry: {max_attempts: 0}}', 'retry.max_attempts must be a positive integer, got 0'],
  ['{id: a, kind: agent, retry: {max_attempts: 2, strategy: x}}', 'retry.strategy must be one of exponential, linear'],
  ['{id: a, kind: agent, timeout_s: -1}', 'timeout_s must be a number of seconds from 0'],
  ['{id: a, kind: agent, when: 5}', 'when must be an expression in text, or true or false, got 5'],
  ['{id: a, kind: agent, output_to: "a.b"}', 'output_to must begin with a letter'],
  ['{id: a, kind: external, executor: e, env_set: {"A-B": x}}', 'env_set.A-B'],
])('the error describes the invalid step: %s', async (step, part) => {
  expect(await fault(step)).toContain(part);
});

test('S1-43 a retry has the documented defaults; a timeout of 0 disables it', async () => {
  const loaded = await loadSteps(
    'steps: [{id: a, kind: agent, retry: {max_attempts: 4, strategy: linear}, timeout_s: 0}, {id: b, kind: agent, timeout_s: 1.5}]',
  );

  expect(stepOf(loaded, 'a')).toMatchObject({
    retry: { maxAttempts: 4, initialBackoffMs: 1000, backoffCapMs: 60_000, strategy: 'linear' },
    timeoutMs: null,
  });
  expect(stepOf(loaded, 'b')).toMatchObject({ timeoutMs: 1500, retry: null });
});

test('an id must be unique in the whole tree', async () => {
  const error = await faultOf(
    'steps:\n  - {id: a, kind: agent}\n  - {id: p, parallel: [{id: l, loop: {max_iterations: 1, steps: [{id: a, kind: agent}]}}]}',
  );

  expect(error.message).toBe('WORKFLOW.md:5:71 step "a": the step on line 4 has the same id; change one of the two');
});

test('S1-12 a target is replaced by its activity; keys of the step override', async () => {
  const loaded = await loadSteps(
    `${SERVICES}
activities:
  plan: { kind: llm, model: small, prompt: "Plan \${issue.title}", timeout_s: 5, retry: { max_attempts: 2 } }
steps:
  - { id: a, target: "activity:plan" }
  - { id: b, target: "activity:plan", model: big, timeout_s: 9, output_to: plan }`,
    { env: TOKEN },
  );

  expect(actionOf(loaded, 'a')).toMatchObject({
    timeoutMs: 5000,
    retry: { maxAttempts: 2 },
    action: { kind: 'llm', model: 'small', prompt: 'Plan ${issue.title}' },
  });
  expect(actionOf(loaded, 'b')).toMatchObject({ timeoutMs: 9000, outputTo: 'plan', action: { model: 'big' } });
});

test('S1-13 targets are replaced before auto is resolved, and both before sessions are checked', async () => {
  const yaml = `${SERVICES}
activities: { critic: { kind: agent, backend: auto, agent: x, session: rev } }
steps: [{ id: l, loop: { max_iterations: 2, steps: [{ id: c, target: "activity:critic" }] } }]`;

  const http = await loadSteps(yaml, { env: TOKEN, backendFlag: 'http' });
  const cli = await faultOf(yaml, { env: TOKEN, backendFlag: 'cli' });

  expect(actionOf(http, 'c').action).toMatchObject({ backend: 'http', session: 'rev' });
  expect(cli.code).toBe('JobValidation');
  expect(cli.message).toMatch(/^WORKFLOW\.md:4:72 step "c": session "rev" needs backend http/);
});

test('S1-14 an unknown activity is rejected with the nearest name', async () => {
  const error = await faultOf('activities: {plan: {kind: agent}}\nsteps:\n  - id: a\n    target: activity:plam');

  expect(error.code).toBe('JobValidation');
  expect(error.message).toBe(
    'WORKFLOW.md:6:13 step "a": there is no activity "plam" under activities; did you mean plan?',
  );
});

test.each(['job:nightly', 'plan', 'activity:', '5'])(
  'S1-15 a target that is not an activity is rejected: %s',
  async (target) => {
    const error = await faultOf(`activities: {plan: {kind: agent}}\nsteps: [{id: a, target: "${target}"}]`);

    expect(error.code).toBe('JobValidation');
    expect(error.message).toContain('step "a": target must be activity:<name>');
  },
);

test('S1-15 a loaded plan contains no target', async () => {
  const { workflow } = await loadSteps('activities: {w: {kind: agent}}\nsteps: [{id: a, target: "activity:w"}]');

  expect(JSON.stringify(workflow.plan)).not.toContain('target');
});

test.each([
  ['S1-28', '{schemaVersion: 1, kind: agent}', 'schemaVersion 1 is no longer supported'],
  [
    'S1-29',
    '{schemaVersion: 2, kind: Job, metadata: {}}',
    'kind must be one of agent, external, capability, llm, tool, code, got "Job"',
  ],
  [
    'S1-29',
    '{kind: Activity, spec: {}}',
    'kind must be one of agent, external, capability, llm, tool, code, got "Activity"',
  ],
  ['S1-29', '{kind: agnet}', 'did you mean agent?'],
  ['a shape', '{loop: {max_iterations: 1, steps: []}}', 'an activity is one step with a kind and cannot have loop'],
  ['steps', '{kind: agent, steps: []}', 'cannot have steps'],
  ['a chain', '{kind: agent, target: "activity:y"}', 'cannot have target'],
  ['an id', '{kind: agent, id: x}', 'id belongs to the step that uses the activity'],
  ['text', 'agent', 'must be a map with a kind, got text'],
])('%s an invalid activity is a structural error, reported once: %s', async (_, activity, part) => {
  const error = await faultOf(`activities: {x: ${activity}}\nsteps: [{id: a, target: "activity:x"}]`);

  expect(error.code).toBe('JobValidation');
  expect(error.message).toMatch(/^WORKFLOW\.md:3:\d+ activity "x": /);
  expect(error.message).toContain(part);
  expect(error.message.split('\n')).toHaveLength(1);
});

test('errors in an activity are reported at the activity, even when it is unused; missing keys are reported at the step', async () => {
  const error = await faultOf(
    `${SERVICES}
activities:
  a: { kind: llm, modle: x, max_tokens: many }
  unused: { kind: tool, tol: x }
steps:
  - { id: one, target: "activity:a" }`,
    { env: TOKEN },
  );

  expect(error.message.split('\n')).toEqual([
    'WORKFLOW.md:5:19 activity "a": unknown key modle; did you mean model?',
    'WORKFLOW.md:5:41 activity "a": max_tokens must be a positive integer, got "many"',
    'WORKFLOW.md:6:25 activity "unused": unknown key tol; did you mean tool?',
    'WORKFLOW.md:8:5 step "one": model is missing; it must be text',
    'WORKFLOW.md:8:5 step "one": prompt is missing; it must be text',
  ]);
});

test('a step with both a target and a kind is rejected', async () => {
  const error = await faultOf('activities: {x: {kind: agent}}\nsteps: [{id: a, target: "activity:x", kind: agent}]');

  expect(error.message).toContain(
    'a step has exactly one of kind, target, parallel, fan_out, loop; this one has kind and target',
  );
});
