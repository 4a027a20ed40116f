import { describe, expect, test } from 'vitest';
import { warningsOf } from '../workflow-fixture.js';
import { arg, faultOf, faultsServed as faults, loadServed as load, SERVICES, TOKEN, TOOL } from './plan-fixture.js';

describe('tokens', () => {
  test.each([
    '${issue}',
    '${issue.title}',
    '${issue.labels[0]}',
    '${issue.author.login}',
    '${attempt}',
    '${run}',
    '${run.step_index}',
    '${inputs.topic}',
    '${steps.before.output}',
    '${steps.before.output.deep.er[2]}',
    '${steps.before.context}',
    '${state.kept.x}',
    '$${issue.nothing}',
    '${HOME}',
    '${steps_of_mine.x}',
  ])('%s is valid', async (token) => {
    const steps = `  - ${TOOL('before', 'output_to: kept')}\n  - ${TOOL('a', arg(token))}`;

    expect((await load(steps, 'inputs: {topic: 1}')).workflow.warnings).toEqual([]);
  });

  test.each([
    ['${issue.titel}', 'an issue has no titel; did you mean title?'],
    ['${run.workspac}', 'a run has no workspac; did you mean workspace?'],
    ['${attempt.x}', 'attempt is a number and has no x'],
    ['${inputs.topik}', 'inputs has no topik; did you mean topic?'],
    ['${steps.befor.output}', 'there is no step befor; did you mean before?'],
    ['${steps.before}', 'write ${steps.before.output}'],
    ['${steps.before.result}', 'write ${steps.before.output}'],
    ['${steps}', 'name a step: ${steps.<id>.output}'],
    ['${steps.a.output}', 'a is this step itself, which has no output yet'],
    ['${steps.later.output}', 'later comes later'],
    ['${state.kep}', 'no earlier step has output_to: kep; did you mean kept?'],
    ['${state.after}', 'no earlier step has output_to: after'],
    ['${item}', 'an item exists only inside a fan_out or a loop with items'],
    ['${iteration}', 'an iteration exists only inside a loop'],
    ['${issue.title', 'it has no closing brace'],
    ['${issue title}', 'cannot be read'],
  ])('%s is invalid, and the message has the reason', async (token, part) => {
    const steps = `  - ${TOOL('before', 'output_to: kept')}\n  - ${TOOL('a', arg(token))}\n  - ${TOOL('later', 'output_to: after')}`;

    const found = await faults(steps, 'inputs: {topic: 1}');

    expect(found).toEqual([expect.stringContaining('step "a": args: ')]);
    expect(found[0]).toContain(part);
  });

  test('an invalid token is step_data_error with the position of its value', async () => {
    const error = await faultOf(
      `${SERVICES}\nsteps:\n  - id: a\n    kind: tool\n    tool: t\n    args:\n      deep: [1, "\${issue.no}"]`,
      {
        env: TOKEN,
      },
    );

    expect(error.code).toBe('step_data_error');
    expect(error.message).toMatch(/^WORKFLOW\.md:9:17 step "a": args: \$\{issue\.no\}: an issue has no no/);
  });

  test('inputs see only issue, attempt and run', async () => {
    const found = await faults(
      `  - ${TOOL('a')}`,
      'inputs: {a: "${issue.title} ${attempt} ${run.id}", b: "${inputs.a}", c: ["${steps.a.output}"], d: "${issue.no}"}',
    );

    expect(found).toEqual([
      'inputs: ${inputs.a}: inputs are rendered before the first step, from issue, attempt and run only',
      'inputs: ${steps.a.output}: inputs are rendered before the first step, from issue, attempt and run only',
      expect.stringContaining('inputs: ${issue.no}: an issue has no no'),
    ]);
  });

  test('inputs that are not a map, or have names that no token can contain, are rejected', async () => {
    expect(await faults(`  - ${TOOL('a')}`, 'inputs: [1]')).toEqual([
      'inputs must be a map of names to values, got a list',
    ]);
    expect(await faults(`  - ${TOOL('a')}`, 'inputs: {"a b": 1}')).toEqual([
      expect.stringContaining('inputs: the name "a b" must begin'),
    ]);
  });
});

describe('visibility between steps', () => {
  test('in a loop: steps see the body, iteration, and item if the loop has items; break_when sees the body', async () => {
    const steps = `  - id: l
    loop:
      max_iterations: 2
      items: [1]
      break_when: "\${steps.b.output.done} == true and \${iteration} > 1"
      steps:
        - ${TOOL('a', arg('${steps.b.output} ${iteration} ${item.x}'))}
        - ${TOOL('b', arg('${steps.a.output}'))}
  - ${TOOL('after', arg('${steps.l.output.iterations} ${steps.b.output}'))}`;

    expect((await load(steps)).workflow.plan.steps).toHaveLength(2);
  });

  test('a loop without items has no item, and its when is evaluated before the body', async () => {
    const steps = `  - id: l
    when: "\${steps.a.output.x} == 1"
    loop: { max_iterations: 2, break_when: "\${steps.l.output.broke}", steps: [ ${TOOL('a', arg('${item}'))} ] }`;

    expect(await faults(steps)).toEqual([
      'step "l": when: ${steps.a.output.x}: a comes later',
      'step "l": break_when: ${steps.l.output.broke}: l is this step itself, which has no output yet',
      'step "a": args: ${item}: an item exists only inside a fan_out or a loop with items',
    ]);
  });

  test('in a parallel: a branch does not see other branches, not even in an enclosing loop; later steps see all branches', async () => {
    const steps = `  - id: l
    loop:
      max_iterations: 2
      steps:
        - id: p
          parallel:
            - ${TOOL('a', arg('${steps.b.output}'))}
            - [ ${TOOL('b')}, ${TOOL('c', arg('${steps.b.output} ${steps.p.output}'))} ]
        - ${TOOL('d', arg('${steps.a.output} ${steps.c.output} ${steps.p.output}'))}`;

    expect(await faults(steps)).toEqual([
      'step "a": args: ${steps.b.output}: b runs at the same time, in another branch of step "p"',
    ]);
  });

  test('in a fan_out: steps see item and earlier steps of the same worker; outside only the combined results are visible', async () => {
    const steps = `  - id: f
    fan_out: { items: "\${issue.labels}", steps: [ ${TOOL('a', arg('${item} ${iteration}'))}, ${TOOL('b', `output_to: kept, ${arg('${steps.a.output}')}`)} ] }
    fan_in: {}
  - ${TOOL('after', arg('${steps.f.output[0]} ${steps.a.output} ${state.kept}'))}`;

    expect(await faults(steps)).toEqual([
      'step "a": args: ${iteration}: an iteration exists only inside a loop',
      'step "after": args: ${steps.a.output}: a is inside the fan_out step "f"; the results of all items are ${steps.f.output}',
      'step "after": args: ${state.kept}: no earlier step has output_to: kept; there are none',
    ]);
  });

  test('steps do not see the output of the shape that contains them', async () => {
    const steps = `  - { id: p, parallel: [ ${TOOL('a', arg('${steps.p.output}'))} ] }`;

    expect(await faults(steps)).toEqual([
      'step "a": args: ${steps.p.output}: p is around this step, and has no output yet',
    ]);
  });
});

describe('where tokens are allowed', () => {
  const KINDS: [string, string][] = [
    ['model of llm', '{ id: a, kind: llm, model: "m-${issue.title}", prompt: x }'],
    ['stop of llm', '{ id: a, kind: llm, model: m, prompt: x, stop: ["${issue.title}"] }'],
    ['tool', '{ id: a, kind: tool, tool: "${issue.title}" }'],
    ['language', '{ id: a, kind: code, language: "${issue.title}", source: x }'],
    ['cwd', '{ id: a, kind: code, language: l, source: x, cwd: "${issue.title}" }'],
    ['type of capability', '{ id: a, kind: capability, type: "${issue.title}", name: x }'],
    ['name of capability', '{ id: a, kind: capability, type: t, name: "${issue.title}" }'],
    ['agent', '{ id: a, kind: agent, backend: http, agent: "${issue.title}" }'],
    ['strategy', '{ id: a, kind: agent, backend: http, agent: x, strategy: "${issue.title}" }'],
    ['model of external', '{ id: a, kind: external, executor: e, model: "${issue.title}" }'],
    ['skills', '{ id: a, kind: external, executor: e, skills: ["${issue.title}"] }'],
    ['tools', '{ id: a, kind: external, executor: e, tools: ["${issue.title}"] }'],
    ['description', '{ id: a, kind: external, executor: e, description: "${issue.title}" }'],
    ['PATH in env_set', '{ id: a, kind: external, executor: e, env_set: { PATH: "${issue.title}" } }'],
    ['LD_PRELOAD in env_set', '{ id: a, kind: external, executor: e, env_set: { LD_PRELOAD: "x${issue.title}" } }'],
    ['a key of input', '{ id: a, kind: external, executor: e, input: { "${issue.title}": 1 } }'],
    [
      'a name in env_set',
      '{ id: a, kind: external, executor: e, env_set: { X: 1 }, input_schema: { a: "${issue.title}" } }',
    ],
  ];

  test.each(KINDS)('a token in %s is an error', async (_, step) => {
    const found = await faults(`  - ${step}`, 'executors: {e: {command: x}}');

    expect(found).toEqual([expect.stringMatching(/^step "a": .*\$\{issue\.title\} is never filled in/)]);
  });

  test.each([
    ['executors: {e: {command: "${issue.title}"}}', 'executor "e": command: ${issue.title} is never filled in'],
    [
      'executors: {e: {command: x, args: ["${issue.title}"]}}',
      'executor "e": args[0]: ${issue.title} is never filled in',
    ],
    [
      'executors: {e: {command: x, env: {A: "${issue.title}"}}}',
      'executor "e": env.A: ${issue.title} is never filled in',
    ],
  ])('a token in the definition of an executor is an error: %s', async (more, part) => {
    expect((await faults(`  - ${TOOL('a')}`, more)).join()).toContain(part);
  });

  test('a token in the address or token of a service is an error', async () => {
    const error = await faultOf(
      'services: {gateway: {base_url: "http://127.0.0.1/${issue.id}", token: "${issue.id}"}}',
    );

    expect(error.message.match(/is never filled in here/g)).toHaveLength(2);
    expect(error.message).toContain(
      'data goes into input, params, args of a tool, stdin, env, env_set, memory or prompt',
    );
  });

  test('every rendered value accepts tokens', async () => {
    const steps = [
      '{ id: l, kind: llm, model: m, prompt: "${issue.title}", idempotency_key: "${issue.id}" }',
      '{ id: t, kind: tool, tool: t, args: { a: ["${issue.title}"] } }',
      '{ id: c, kind: code, language: l, source: "echo ${HOME} $${issue.title}", stdin: "${issue.title}", env: { A: "${issue.title}" } }',
      '{ id: p, kind: capability, type: t, name: n, params: { a: "${issue.title}" } }',
      '{ id: h, kind: agent, backend: http, agent: x, input: { a: "${issue.title}" } }',
      '{ id: e, kind: external, executor: e, input: { a: "${issue.title}" }, env_set: { A: "${issue.title}" }, memory: { a: "${issue.title}" } }',
    ];

    const { workflow } = await load(steps.map((step) => `  - ${step}`).join('\n'), 'executors: {e: {command: x}}');

    expect(workflow.warnings).toEqual([]);
  });

  test('issue text in code causes a warning, because it would be executed', async () => {
    const { workflow } = await load('  - { id: c, kind: code, language: l, source: "print(${issue.title})" }');

    expect(warningsOf(workflow)).toEqual([
      'WORKFLOW.md:6:47 step "c": source contains ${issue…}, so authors of issues could run code here; pass the text by stdin or env instead',
    ]);
  });

  test('a token in the Liquid prompt of an agent causes a warning, because it is not rendered', async () => {
    const { workflow } = await load('  - { id: a, kind: agent, prompt: "Do ${issue.title}" }');

    expect(warningsOf(workflow)).toEqual([
      expect.stringContaining('the prompt of an agent is Liquid: write {{ issue.title }}'),
    ]);
  });
});

describe('expressions', () => {
  test.each([
    ['when: "${issue.title} ="', 'step "a": when: the expression'],
    ['when: "${issue.titel} == 1"', 'step "a": when: ${issue.titel}: an issue has no titel'],
    ['when: "$(date) == 1"', 'cannot be read'],
    ['when: "${HOME} == 1"', 'names ${HOME}'],
  ])('%s is rejected at load', async (rest, part) => {
    const error = await faultOf(`${SERVICES}\nsteps:\n  - ${TOOL('a', rest)}`, { env: TOKEN });

    expect(['expression_error', 'step_data_error']).toContain(error.code);
    expect(error.message).toContain(part);
  });
});

describe('text that looks like a token', () => {
  test.each([
    ['${step.before.output}', 'stays unchanged; did you mean ${steps…}?'],
    [
      '${{ issue.title }}',
      '${{ issue.title }} stays unchanged: only prompts of agents are Liquid; write ${issue.title}',
    ],
    ['{{ issue.title | upcase }}', 'only prompts of agents are Liquid; write ${issue.title}'],
  ])('%s causes a warning, in steps and in inputs', async (token, part) => {
    const { workflow } = await load(`  - ${TOOL('a', arg(token))}`, `inputs: { x: "${token}" }`);

    expect(workflow.warnings).toHaveLength(2);
    for (const warning of warningsOf(workflow)) expect(warning).toContain(part);
  });

  test('a long text that only begins like a token is checked quickly', async () => {
    const text = `{{issue.${'x'.repeat(60_000)}`;

    expect((await load(`  - ${TOOL('a', arg(text))}`)).workflow.warnings).toEqual([]);
  });

  test('code may contain any braces', async () => {
    const source = 'console.log(`${input.name} {{ item }}`)';

    expect((await load(`  - { id: a, kind: code, language: js, source: "${source}" }`)).workflow.warnings).toEqual([]);
  });
});

describe('keys of an output', () => {
  test.each([
    ['{ id: a, kind: agent }', 'last_mesage', 'last_message'],
    ['{ id: a, kind: agent, backend: http, agent: x }', 'outptu', 'output'],
    ['{ id: a, kind: llm, model: m, prompt: p }', 'model_usd', 'model_used'],
    ['{ id: a, kind: code, language: l, source: s }', 'stdou', 'stdout'],
    ['{ id: a, loop: { max_iterations: 1, steps: [{ id: in, kind: agent }] } }', 'iteration', 'iterations'],
  ])('%s: a key that the output never has is rejected at load', async (step, wrong, right) => {
    const use = (member: string) => `  - ${step}\n  - ${TOOL('b', arg(`\${steps.a.output.${member}}`))}`;

    expect(await faults(use(wrong))).toEqual([expect.stringContaining(`has no ${wrong}; did you mean ${right}?`)]);
    for (const good of [right, `${right}_truncated`, 'preview'])
      expect((await load(use(good))).workflow.warnings).toEqual([]);
  });
});
