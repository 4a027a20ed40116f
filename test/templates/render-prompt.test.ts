import { describe, expect, test } from 'vitest';
import { BatonError } from '../../src/domain/errors.js';
import type { Issue } from '../../src/domain/issue.js';
import { compilePrompt, MAX_PROMPT_LENGTH, type PromptValues } from '../../templates/render-prompt.js';
import { issue } from '../support/builders.js';

const FILE = '/project/WORKFLOW.md';

function render(text: string, overrides: Partial<PromptValues> = {}): string {
  return compilePrompt({ text, startLine: 10, file: FILE }).render(values(overrides));
}

function values(overrides: Partial<PromptValues> = {}): PromptValues {
  return {
    issue: issue('AB-1'),
    attempt: null,
    run: { id: 'r1', number: 3, reason: 'first', workspace: '/ws/AB-1' },
    workflow: { path: FILE, dir: '/project' },
    ...overrides,
  };
}

const withIssue = (overrides: Partial<Issue>) => ({ issue: issue(overrides) });

function errorOf(act: () => unknown): BatonError {
  try {
    act();
  } catch (error) {
    if (error instanceof BatonError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('values', () => {
  test('S2-29 a prompt can use the issue, the attempt, the run and the workflow', () => {
    const text =
      '{{ issue.identifier }} {{ attempt }} {{ run.id }} {{ run.number }} {{ run.reason }} {{ run.workspace }} {{ workflow.path }} {{ workflow.dir }}';

    expect(render(text, { attempt: 2 })).toBe(`AB-1 2 r1 3 first /ws/AB-1 ${FILE} /project`);
  });

  test('S2-32 every field of an issue is available by its string key', () => {
    const keys = Object.keys(issue());

    const text = keys.map((key) => `{{ issue["${key}"] | json }}{{ issue.${key} | json }}`).join('\n');

    expect(() => render(text)).not.toThrow();
  });

  test('S2-33 labels, blockers and comments can be iterated', () => {
    const text =
      '{% for l in issue.labels %}[{{ l }}]{% endfor %}{% for b in issue.blocked_by %}({{ b.identifier }} {{ b.state }}){% endfor %}{% for c in issue.comments %}<{{ c.body }}>{% endfor %}';

    const output = render(
      text,
      withIssue({
        labels: ['a', 'b'],
        blocked_by: [{ id: '1', identifier: 'X-1', state: 'Todo' }],
        comments: [{ author: null, body: 'hi', created_at: null }],
      }),
    );

    expect(output).toBe('[a][b](X-1 Todo)<hi>');
  });

  test('S2-34 attempt is empty and false on the first run and a number on later runs', () => {
    const text = '{% if attempt %}again {{ attempt | plus: 1 }}{% else %}first{{ attempt }}{% endif %}';

    expect(render(text)).toBe('first');
    expect(render(text, { attempt: 1 })).toBe('again 2');
  });

  test('a null field, or a field of a null field, is empty and accepts a default', () => {
    expect(
      render('<{{ issue.description }}><{{ issue.description | default: "none" }}><{{ issue.author.login }}>'),
    ).toBe('<><none><>');
  });

  test('a compiled prompt renders repeatedly without leaking values or changing its input', () => {
    const prompt = compilePrompt({
      text: '{% increment counter %}{% assign x = 1 %}{{ issue.title }}',
      startLine: 1,
      file: FILE,
    });
    const given = values();
    const before = structuredClone(given);

    const first = prompt.render(given);
    const second = prompt.render(given);

    expect(second).toBe(first);
    expect(given).toEqual(before);
  });
});

describe('strictness', () => {
  test('SEC-7 Liquid in the text of an issue is not rendered', () => {
    const hostile = '{{ run.id }} {% assign a = 1 %} {% raw %} {%- endraw -%} {{';

    expect(
      render('{{ issue.title }}|{{ issue.description }}', withIssue({ title: hostile, description: hostile })),
    ).toBe(`${hostile}|${hostile}`);
  });

  test('S2-30 SEC-7 an unknown variable fails with line and column in WORKFLOW.md and a suggestion', () => {
    const error = errorOf(() => render('one\ntwo {{ issue.titel }}'));

    expect(error.code).toBe('template_render_error');
    expect(error.message).toBe(`${FILE}:11:8 undefined variable: issue.titel; did you mean "issue.title"?`);
    expect(error.details).toMatchObject({ line: 11, column: 8 });
  });

  test.each([
    '{{ isue.title }}',
    '{{ secret }}',
    '{% if issue.nope %}{% endif %}',
    '{{ issue.nope | default: "x" }}',
    '{% for x in issue.nope %}{% endfor %}',
    '{{ issue.constructor }}',
    '{{ issue.__proto__ }}',
    '{{ issue.title.constructor }}',
    '{{ issue.labels.constructor.name }}',
    '{{ constructor }}',
    '{{ issue["toString"] }}',
  ])('SEC-7 %s fails', (text) => {
    expect(errorOf(() => render(text)).code).toBe('template_render_error');
  });

  test('S2-31 an unknown filter fails at compile time with a suggestion', () => {
    const error = errorOf(() => compilePrompt({ text: '\n{{ issue.title | upcas }}', startLine: 4, file: FILE }));

    expect(error.code).toBe('template_parse_error');
    expect(error.message).toBe(`${FILE}:5:1 undefined filter: upcas; did you mean "upcase"?`);
  });

  test.each(['{% if issue.title %}', '{{ issue.title', '{% nonsense %}', '{% for %}{% endfor %}'])(
    'invalid Liquid %s is a parse error with its position',
    (text) => {
      const error = errorOf(() => compilePrompt({ text: `a\n${text}`, startLine: 7, file: FILE }));

      expect(error.code).toBe('template_parse_error');
      expect(error.message).toMatch(/^\/project\/WORKFLOW\.md:8:1 /);
      expect(error.message).not.toMatch(/line:\d/);
    },
  );

  test('an error in the built-in prompt has no line of WORKFLOW.md', () => {
    const error = errorOf(() => compilePrompt({ text: '{{ nope }}', startLine: 0, file: FILE }).render(values()));

    expect(error.message).toContain('(built-in prompt):1:4');
  });

  test.each([
    '{% include "package.json" %}',
    '{% render "package.json" %}',
    '{% render ".env" %}',
    '{% layout "package.json" %}',
    '{% block a %}{% endblock %}',
    '{% liquid\n include "package.json"\n%}',
    '{% if false %}{% include "x" %}{% endif %}',
  ])('SEC-8 %s is rejected at compile time', (text) => {
    const error = errorOf(() => compilePrompt({ text, startLine: 1, file: FILE }));

    expect(error.code).toBe('template_parse_error');
    expect(error.message).toContain('cannot read files');
  });
});

describe('limits', () => {
  const runaways = {
    'a loop of 10^8': '{% for i in (1..100000000) %}x{% endfor %}',
    'an empty loop of 10^8': '{% for i in (1..100000000) %}{% endfor %}',
    'nested loops':
      '{% for i in (1..1000) %}{% for j in (1..1000) %}{% for k in (1..1000) %}{% endfor %}{% endfor %}{% endfor %}',
    'doubling concatenation':
      '{% assign a = "aaaaaaaa" %}{% for i in (1..60) %}{% assign a = a | append: a %}{% endfor %}',
    'doubling capture':
      '{% assign a = "aaaaaaaa" %}{% for i in (1..60) %}{% capture a %}{{ a }}{{ a }}{% endcapture %}{% endfor %}',
    'doubling list':
      '{% assign a = "a,b" | split: "," %}{% for i in (1..60) %}{% assign a = a | concat: a %}{% endfor %}',
    'a list of long texts in a capture':
      '{% assign t = "x" %}{% for i in (1..20) %}{% assign t = t | append: t %}{% endfor %}{% assign l = "a" | split: "," %}{% for i in (1..60) %}{% assign l = l | push: t %}{% endfor %}{% capture c %}{{ l }}{% endcapture %}',
  };

  test.each(Object.entries(runaways))('SEC-8 %s exceeds a limit and is a render error', (_, text) => {
    const error = errorOf(() => render(text));

    expect(error.code).toBe('template_render_error');
    expect(error.message).toMatch(/limit/);
  });

  test('SEC-8 the render limit counts operations, so a template always stops at the same point', () => {
    const rendersWhole = (rounds: number) => {
      try {
        render(`{% for i in (1..${rounds}) %}{% assign a = i %}{% endfor %}`);
        return true;
      } catch {
        return false;
      }
    };

    // Two checks per iteration and two around the loop: 100,000 in total.
    expect([rendersWhole(49_999), rendersWhole(50_000)]).toEqual([true, false]);
  });

  test('a template over the size limit is a parse error', () => {
    const error = errorOf(() => compilePrompt({ text: 'x'.repeat(1_000_001), startLine: 1, file: FILE }));

    expect(error.code).toBe('template_parse_error');
    expect(error.message).toContain('limit');
  });

  test('SEC-9 a prompt of exactly the maximum length is rendered; a longer prompt fails and is not truncated', () => {
    const text = '{{ issue.description }}';
    const full = 'é'.repeat(MAX_PROMPT_LENGTH);

    expect(render(text, withIssue({ description: full }))).toBe(full);
    const error = errorOf(() => render(text, withIssue({ description: `${full}é` })));
    expect(error.code).toBe('prompt_too_large');
    expect(error.message).toContain('1000000');
  });

  test('tags nested thousands deep are an error, not a crash', () => {
    const deep = '{% if true %}'.repeat(20_000) + '{% endif %}'.repeat(20_000);

    expect(errorOf(() => render(deep)).code).toMatch(/^template_(parse|render)_error$/);
  });
});
