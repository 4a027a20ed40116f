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

test('the JSON Schema contains every key that the validation knows', () => {
  for (const [section, shape] of Object.entries(SECTIONS)) {
    expect(Object.keys(propertiesOf(section))).toEqual(Object.keys(shape));
  }
});

test('the JSON Schema contains the type, default, allowed values and limits of a setting', () => {
  expect(propertiesOf('tracker').kind).toMatchObject({ enum: ['local', 'linear'] });
  expect(propertiesOf('agent').max_turns).toMatchObject({ default: 20, description: 'Turns of one run.' });
  expect(JSON.stringify(propertiesOf('runtime').isolation)).toContain('["auto","pidns","none"]');
  expect(JSON.stringify(propertiesOf('server').port)).toContain('"maximum":65535');
  expect(schema.required).toEqual(['tracker']);
});

test('the JSON Schema allows unknown keys in every section of settings', () => {
  const sections = Object.keys(SECTIONS).map((section) => JSON.stringify(schema.properties?.[section]));

  expect(sections.filter((section) => section.includes('"additionalProperties":false'))).toEqual([]);
  expect(schema.additionalProperties).not.toBe(false);
});

test('the JSON Schema describes every kind and shape of step at every depth', () => {
  const step = (schema.$defs as { readonly [name: string]: Schema }).step;
  const kinds = step?.anyOf?.map(({ properties }) => properties?.kind?.const).filter((kind) => kind !== undefined);
  const bodies = step?.anyOf?.flatMap(({ required }) => required as string[]);
  const loop = step?.anyOf?.find(({ properties }) => properties?.loop)?.properties?.loop;

  expect(kinds).toEqual(['agent', 'external', 'capability', 'llm', 'tool', 'code']);
  expect(bodies).toEqual(expect.arrayContaining(['kind', 'parallel', 'fan_out', 'fan_in', 'loop', 'target']));
  expect(loop?.properties?.steps).toMatchObject({ items: { $ref: '#/$defs/step' } });
  for (const key of ['inputs', 'steps', 'activities', 'executors', 'services']) {
    expect(schema.properties?.[key]?.description, key).toMatch(/\S/);
  }
});
