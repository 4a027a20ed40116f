import { expect, test } from 'vitest';
import { actionOf, faultOf, loadSteps, SERVICES, TOKEN } from './plan-fixture.js';

const withServices = (steps: string) => `${SERVICES}\nsteps:\n${steps}`;
const faults = async (steps: string) => (await faultOf(withServices(steps), { env: TOKEN })).message.split('\n');
const http = (id: string, session: string) =>
  `{ id: ${id}, kind: agent, backend: http, agent: x, session: ${session} }`;

test('S1-16 S1-17 a session in a loop body on cli is rejected; the error has file, step, session, constraint and fix', async () => {
  const error = await faultOf(
    'steps:\n  - id: l\n    loop:\n      max_iterations: 2\n      steps:\n        - { id: fix, kind: agent, session: rev }',
  );

  expect(error.code).toBe('JobValidation');
  expect(error.message).toBe(
    'WORKFLOW.md:8:44 step "fix": session "rev" needs backend http, but this step runs on cli, which keeps no conversation between steps; set backend: http, or remove session',
  );
});

test('S1-16 a session on a top-level cli step is rejected', async () => {
  expect((await faultOf('steps: [{id: a, kind: agent, backend: cli, session: s}]')).code).toBe('JobValidation');
});

test('other kinds of steps have no key session', async () => {
  expect(await faults('  - { id: a, kind: tool, tool: t, session: s }')).toEqual([
    'WORKFLOW.md:5:35 step "a": tool steps have no key session; there are id, when, output_to, retry, timeout_s, idempotency_key, kind, tool, args',
  ]);
});

test('S1-16 a session over http is accepted at the top level and in a loop', async () => {
  const steps = `  - ${http('a', 's')}\n  - { id: l, loop: { max_iterations: 2, steps: [${http('b', 's')}] } }`;

  const loaded = await loadSteps(withServices(steps), { env: TOKEN });

  expect(actionOf(loaded, 'a').action).toMatchObject({ session: 's' });
  expect(actionOf(loaded, 'b').action).toMatchObject({ session: 's' });
});

test('S1-21 the same session in two branches of a parallel is rejected', async () => {
  expect(await faults(`  - id: p\n    parallel:\n      - ${http('a', 's')}\n      - ${http('b', 's')}`)).toEqual([
    'WORKFLOW.md:8:65 step "b": session "s" is used by step "a" at the same time, in another branch of step "p"; give one of them another session',
  ]);
});

test('S1-23 different sessions per branch are accepted, and so is one session twice in one branch', async () => {
  const steps = `  - { id: p, parallel: [ [${http('a', 's')}, ${http('b', 's')}], ${http('c', 't')} ] }`;

  expect((await loadSteps(withServices(steps), { env: TOKEN })).workflow.plan.steps).toHaveLength(1);
});

test('S1-22 a session inside a fan_out is rejected at any depth and with any number of workers', async () => {
  const steps = `  - id: f
    fan_out:
      items: [1]
      max_workers: 1
      steps:
        - { id: l, loop: { max_iterations: 2, steps: [${http('a', 's')}] } }
    fan_in: {}`;

  expect(await faults(steps)).toEqual([
    'WORKFLOW.md:10:111 step "a": session "s" is inside the fan_out step "f", whose workers would share one conversation; remove session, or use a loop with items',
  ]);
});

test('S1-24 nested shapes are checked at every depth', async () => {
  const steps = `  - id: outer
    parallel:
      - ${http('a', 'same')}
      - id: l
        loop:
          max_iterations: 2
          steps:
            - id: inner
              parallel:
                - ${http('b', 'other')}
                - ${http('c', 'other')}
                - ${http('d', 'same')}`;

  const found = await faults(steps);

  expect(
    found.map((line) => /step "(\w)": session "(\w+)" is used by step "(\w)"/.exec(line)?.slice(1).join(' ')),
  ).toEqual(['c other b', 'd same a']);
});

test('coding agents in two branches of a parallel are rejected, because they share one workspace', async () => {
  const found = await faults(
    '  - id: p\n    parallel:\n      - { id: a, kind: agent }\n      - { id: l, loop: { max_iterations: 2, steps: [{ id: b, kind: agent }] } }',
  );

  expect(found).toEqual([
    'WORKFLOW.md:8:53 step "b": a coding agent (backend cli) runs at the same time as step "a", in one workspace; put them into one branch of step "p", one after the other',
  ]);
});

test('one coding agent beside other kinds, and two in one branch, are accepted', async () => {
  const steps = `  - { id: p, parallel: [ [{ id: a, kind: agent }, { id: b, kind: agent }], { id: t, kind: tool, tool: t } ] }`;

  expect((await loadSteps(withServices(steps), { env: TOKEN })).workflow.plan.steps).toHaveLength(1);
});

test('a coding agent in a fan_out is rejected unless max_workers is 1', async () => {
  const fan = (workers: string) =>
    `  - { id: f, fan_out: { items: [1, 2], ${workers}steps: [{ id: a, kind: agent }] }, fan_in: {} }`;

  for (const workers of ['', 'max_workers: 2, ']) {
    expect(await faults(fan(workers))).toEqual([
      expect.stringContaining('step "a": a coding agent (backend cli) is inside the fan_out step "f"'),
    ]);
  }
  expect((await loadSteps(withServices(fan('max_workers: 1, ')), { env: TOKEN })).workflow.plan.steps).toHaveLength(1);
});
