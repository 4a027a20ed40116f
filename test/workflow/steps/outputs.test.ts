import { describe, expect, test } from 'vitest';
import { warningsOf } from '../workflow-fixture.js';
import { arg, faultsServed as faults, loadServed as load, TOOL } from './plan-fixture.js';

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
