import { expect, test } from 'vitest';
import type { Finding } from '../../../src/cli/check/finding.js';
import { check } from '../../../src/cli/check.js';
import { memoryRegistry, world } from '../cli-fixture.js';

/** The given steps begin on line 4; the text of `prompt:` below begins on line 10. */
async function checked(steps: string, body = 'Do {{ issue.title }}') {
  const io = world();
  io.program('codex', '#!/bin/sh\necho 1\n');
  const head = 'tracker: { kind: memory, required_labels: [baton] }\ninputs: { topic: "${issue.title}" }';
  io.write('WORKFLOW.md', `---\n${head}\n${steps}\n---\n${body}\n`);
  const options = { workflowPath: 'WORKFLOW.md', json: true, schema: false };
  const code = await check(options, io, memoryRegistry());
  const { findings } = JSON.parse(io.out()) as { findings: Finding[] };
  const errors = findings.filter(({ level }) => level === 'error');
  return { code, errors, of: (wanted: string) => findings.filter((finding) => finding.code === wanted) };
}

const prompt = (text: string, body?: string) =>
  checked(`steps:\n  - { id: a, kind: agent, output_to: kept }\n  - id: b\n    kind: agent\n    prompt: ${text}`, body);
const literal = (text: string) => prompt(`|\n      Hello\n      ${text}`);

test.each([
  '{{ steps.a.output.last_message | upcase }} {{ state.kept.turns }} {{ inputs.topic }} {{ run.step_index }}',
  '{% if steps.a.output.last_message_truncated %}x{% endif %} {{ steps.a.output.usage.total_tokens }}',
  '{{ issue.title }} {{ workflow.dir }}',
])('a prompt may use outputs of earlier steps: %s', async (text) => {
  expect((await literal(text)).errors).toEqual([]);
});

test.each([
  ['{{ issue.titel }}', 'template_render_error', 'issue.titel'],
  ['{{ steps.nobody.output }}', 'template_render_error', 'steps.nobody'],
  ['{{ steps.b.output.turns }}', 'template_render_error', 'steps.b'],
  ['{{ steps.a.output.last_mesage }}', 'template_render_error', 'steps.a.output.last_mesage'],
  ['{{ state.kept.last_mesage }}', 'template_render_error', 'state.kept.last_mesage'],
  ['{{ inputs.topik }}', 'template_render_error', 'inputs.topik'],
  ['{{ item }}', 'template_render_error', 'item'],
  ['{% if %}', 'template_parse_error', ''],
])('an invalid prompt is an error with its line: %s', async (text, wanted, part) => {
  const { code, of } = await literal(text);

  expect(code).toBe(2);
  expect(of(wanted)).toMatchObject([{ level: 'error', group: 'Steps', line: 10 }]);
  expect(of(wanted)[0]?.message).toContain(`step "b": the prompt fails: `);
  expect(of(wanted)[0]?.message).toContain(part);
});

test('a prompt may use later steps of the same loop, but not steps after the loop or inside a fan_out', async () => {
  const loop = (text: string, more = '') =>
    checked(
      `steps:\n  - id: l\n    loop:\n      max_iterations: 2\n      steps:\n        - { id: a, kind: agent, prompt: "${text}" }\n        - { id: b, kind: agent }\n  - { id: later, kind: agent${more} }`,
    );
  const each = checked(
    'steps:\n  - { id: f, fan_in: {}, fan_out: { items: [1], max_workers: 1, steps: [{ id: in, kind: agent, prompt: "{{ item }}" }] } }\n  - { id: z, kind: agent, prompt: "{{ steps.f.output }} {{ steps.in.output }}" }',
  );

  expect((await loop('{{ steps.b.output.turns }} {{ iteration }}')).errors).toEqual([]);
  expect((await loop('{{ steps.later.output }}')).errors).toHaveLength(1);
  expect((await loop('x', ', prompt: "{{ steps.b.output.turns }} {{ steps.l.output.broke }}"')).errors).toEqual([]);
  expect((await each).errors).toMatchObject([{ message: expect.stringContaining('steps.in') }]);
});

test.each([
  ['a literal block', '|\n      Hello\n      {{ nope }}\n', 10, 10],
  ['an indented, chomped and commented block', '|- # why\n\n      Hello\n        {{ nope }}', 11, 12],
  ['a block with an explicit indentation', '|2+\n        Hello\n       {{ nope }}\n\n', 10, 11],
  ['a block with an anchor', '&text |\n      Hello\n      {{ nope }}', 10, 10],
  ['a quoted line', '"Hello {{ nope }}"', 8, 23],
  ['a plain line', 'Hello {{ nope }}', 8, 22],
])('an error in a prompt has its position in the file: %s', async (_, text, line, column) => {
  expect((await prompt(text)).errors).toMatchObject([{ line, column }]);
});

test.each([
  ['folded', '>-\n      Hello\n      there\n\n      {{ nope }}'],
  ['quoted with escapes', '"Hello\\n\\n{{ nope }}"'],
  ['quoted over lines', "'Hello\n\n      {{ nope }}'"],
])('an error in a prompt has the position of the prompt when its lines differ from the file: %s', async (_, text) => {
  expect((await prompt(text)).errors).toMatchObject([{ line: 8, column: 13 }]);
});

test('the body is also checked with steps, and its error is reported once', async () => {
  const good = await prompt('x', 'Do {{ issue.title }} {{ inputs.topic }}');
  const bad = await prompt('x', 'Do {{ issue.titel }}');
  const broken = await prompt('x', 'Do {% if %}');

  expect(good.errors).toEqual([]);
  expect(bad.of('template_render_error')).toMatchObject([{ line: 10, group: 'Steps' }]);
  expect(broken.of('template_parse_error')).toMatchObject([{ line: 10, group: 'Workflow' }]);
});

test('a body that no step uses is a warning, even without agent steps', async () => {
  const own = await checked('steps: [{id: a, kind: agent, prompt: Hi}]');
  const none = await checked('executors: {e: {command: /bin/cat}}\nsteps: [{id: a, kind: external, executor: e}]');

  for (const { of } of [own, none])
    expect(of('unused_prompt')).toMatchObject([
      { level: 'warning', message: 'no step uses the text below the front matter' },
    ]);
});
