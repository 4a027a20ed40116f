import { expect, test } from 'vitest';
import { actionOf, faultOf, loadSteps, SERVICES, TOKEN } from './plan-fixture.js';

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
