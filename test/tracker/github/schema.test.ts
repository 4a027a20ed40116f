import { schema as published } from '@octokit/graphql-schema';
import { buildSchema, NoDeprecatedCustomRule, parse, specifiedRules, validate } from 'graphql';
import { expect, test } from 'vitest';
import { HISTORY_QUERY } from '../../../src/tracker/github/edit-histories.js';

const RULES = [...specifiedRules, NoDeprecatedCustomRule];

test('the query fits the schema that GitHub publishes, and asks for nothing that is about to go', () => {
  const schema = buildSchema(published.idl, { assumeValid: true, noLocation: true });

  const faults = validate(schema, parse(HISTORY_QUERY), RULES);
  const wrong = validate(schema, parse(HISTORY_QUERY.replace('lastEditedAt', 'lastEditedOn')), RULES);

  expect(faults).toEqual([]);
  expect(wrong).toHaveLength(1);
});
