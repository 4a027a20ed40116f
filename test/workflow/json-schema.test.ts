import { expect, test } from 'vitest';
import { frontMatterJsonSchema } from '../../src/workflow/json-schema.js';
import { SECTIONS } from '../../src/workflow/schema.js';

interface Schema {
  readonly properties?: { readonly [key: string]: Schema };
  readonly anyOf?: readonly Schema[];
  readonly [key: string]: unknown;
}

const schema = frontMatterJsonSchema(['local', 'linear']) as unknown as Schema;

function propertiesOf(section: string): { readonly [key: string]: Schema } {
  const found = schema.properties?.[section];
  return found?.properties ?? found?.anyOf?.find((option) => option.properties)?.properties ?? {};
}

test('the JSON Schema has every key that the validation knows', () => {
  for (const [section, shape] of Object.entries(SECTIONS)) {
    expect(Object.keys(propertiesOf(section))).toEqual(Object.keys(shape));
  }
});

test('the JSON Schema tells editors kinds, defaults, choices and limits', () => {
  expect(propertiesOf('tracker').kind).toMatchObject({ enum: ['local', 'linear'] });
  expect(propertiesOf('agent').max_turns).toMatchObject({ default: 20, description: 'Turns of one run.' });
  expect(JSON.stringify(propertiesOf('runtime').isolation)).toContain('["auto","pidns","none"]');
  expect(JSON.stringify(propertiesOf('server').port)).toContain('"maximum":65535');
  expect(schema.required).toEqual(['tracker']);
});

test('the JSON Schema allows keys that it does not know', () => {
  expect(JSON.stringify(schema)).not.toContain('"additionalProperties":false');
});
