import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BatonError } from '../../../src/domain/errors.js';
import type { Json, JsonObject } from '../../../src/domain/json.js';
import { lookUp, parseText, renderText, renderValue, tokensIn } from '../../../src/domain/steps/tokens.js';
import { deepFrozen, json, nameableMap, nastyText } from './json-arbitraries.js';

/** Escapes a text so that rendering returns it unchanged. */
const escaped = (text: string) => text.split('${').join('$${');

function escapedIn(value: Json): Json {
  if (typeof value === 'string') return escaped(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => escapedIn(item as Json));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, escapedIn(item as Json)]));
}

test('S4-05 tokens in the text of an issue are never expanded, however often the text is passed on', () => {
  fc.assert(
    fc.property(nastyText, (title) => {
      const scope = { issue: { title }, item: 'SECRET' };

      const inputs = renderValue({ topic: '${issue.title}', line: '<${issue.title}>' }, scope) as JsonObject;
      const step = renderValue({ a: '${inputs.topic}', b: '-${inputs.line}-' }, { ...scope, inputs });

      expect(step).toEqual({ a: title, b: `-<${title}>-` });
    }),
  );
});

test('S4-05 S4-17 a value that is one token keeps its type, and the rendered step survives a JSON round trip', () => {
  fc.assert(
    fc.property(json, (value) => {
      const rendered = renderValue({ args: ['${item}', { deep: '${item}' }], text: 'a ${item}' }, { item: value });

      const text = typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);
      const wanted = JSON.stringify({ args: [value, { deep: value }], text: `a ${text}` });
      expect(JSON.stringify(rendered)).toBe(wanted);
      expect(JSON.stringify(JSON.parse(wanted))).toBe(wanted);
    }),
  );
});

test('S4-17 any JSON can be written: with ${ escaped as $${ it renders unchanged, keys included', () => {
  fc.assert(
    fc.property(json, (value) => {
      const written = escapedIn(value);

      expect(JSON.stringify(renderValue(written, {}))).toBe(JSON.stringify(value));
      expect(tokensIn(written)).toEqual([]);
    }),
  );
});

test('any text is parsed completely or rejected with step_data_error', () => {
  fc.assert(
    fc.property(nastyText, (text) => {
      let parts: ReturnType<typeof parseText>;
      try {
        parts = parseText(text);
      } catch (error) {
        expect(error).toMatchObject({ code: 'step_data_error' });
        return;
      }

      const read = parts.map((part) => (typeof part === 'string' ? part : part.text)).join('');
      expect(read).toBe(text.replaceAll('$${', '${'));
      expect(parts).not.toContain('');
    }),
    { numRuns: 1_000 },
  );
});

test('a path resolves to the own property with that name, or fails', () => {
  const name = fc.constantFrom('a', 'b-c', 'd_1', 'length', 'constructor', '__proto__', 'toString', '0', '1');
  fc.assert(
    fc.property(nameableMap, fc.array(name, { minLength: 1, maxLength: 4 }), (inputs, names) => {
      const isThere = names.reduce<{ value: unknown } | null>(
        (at, key) => {
          if (at === null || typeof at.value !== 'object' || at.value === null) return null;
          const found = Object.entries(at.value).find(([own]) => own === key);
          return found ? { value: found[1] } : null;
        },
        { value: inputs },
      );

      const look = () => lookUp({ path: ['inputs', ...names], text: '${…}' }, { inputs });

      if (isThere) expect(look()).toBe(isThere.value);
      else expect(look).toThrow(BatonError);
      const [token] = tokensIn(`\${inputs.${names.join('.')}}`);
      expect(token?.path).toEqual(['inputs', ...names]);
    }),
    { numRuns: 500 },
  );
});

test('rendering does not change its input, and repeated rendering returns the same', () => {
  fc.assert(
    fc.property(json, nameableMap, (value, inputs) => {
      const template = deepFrozen([escapedIn(value), '${inputs}', 'all: ${inputs}']);
      const scope = deepFrozen({ inputs });

      const first = renderValue(template, scope);

      expect(JSON.stringify(renderValue(template, scope))).toBe(JSON.stringify(first));
      expect(renderText('${inputs}', scope)).toBe(JSON.stringify(inputs));
    }),
  );
});
