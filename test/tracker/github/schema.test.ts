import { schema as published } from '@octokit/graphql-schema';
import { buildSchema, NoDeprecatedCustomRule, parse, specifiedRules, validate } from 'graphql';
import { expect, test } from 'vitest';
import { EDITORS_QUERY, HISTORY_QUERY } from '../../../src/tracker/github/trust.js';

const RULES = [...specifiedRules, NoDeprecatedCustomRule];

test.each([
  ['histories', HISTORY_QUERY],
  ['comments', EDITORS_QUERY],
])('the query for %s fits the schema that GitHub publishes, and asks for nothing that is about to go', (_of, query) => {
  const schema = buildSchema(published.idl, { assumeValid: true, noLocation: true });

  const faults = validate(schema, parse(query), RULES);
  const wrong = validate(schema, parse(query.replace('lastEditedAt', 'lastEditedOn')), RULES);

  expect(faults).toEqual([]);
  expect(wrong).toHaveLength(1);
});
