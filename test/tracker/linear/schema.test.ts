import { buildSchema, parse, validate } from 'graphql';
import { describe, expect, test } from 'vitest';
import * as queries from '../../../src/tracker/linear/queries.js';
import { pointsOf } from '../../support/trackers/fake-linear-paging.js';
import { LINEAR_SCHEMA } from '../../support/trackers/fake-linear-schema.js';

const schema = buildSchema(LINEAR_SCHEMA);
const { PAGE, ...documents } = queries;
/** Linear rejects queries above this complexity. */
const MAX_POINTS = 10_000;

describe('our Linear queries', () => {
  test.each(Object.entries(documents))('%s matches the schema and is one named operation', (_name, text) => {
    const document = parse(text);

    const operations = document.definitions.filter(({ kind }) => kind === 'OperationDefinition');
    expect(validate(schema, document)).toEqual([]);
    expect(operations).toHaveLength(1);
    expect(operations[0]).toHaveProperty('name.value', expect.stringMatching(/^Baton/));
  });

  test.each([
    ['a full page of issues', queries.ISSUES_QUERY, { first: PAGE.issues, nested: PAGE.nested }],
    ['issues with many labels', queries.ISSUES_QUERY, { first: PAGE.deepIssues, nested: PAGE.deep }],
    ['issues by id', queries.ISSUES_QUERY, { first: PAGE.ids, nested: PAGE.nested }],
    ['the scope', queries.SCOPE_QUERY, {}],
    ['comments', queries.COMMENTS_QUERY, {}],
    ['states to move to', queries.MOVES_QUERY, {}],
  ])('%s stays below the complexity limit', (_what, text, variables) => {
    expect(pointsOf(parse(text), variables)).toBeLessThan(MAX_POINTS * 0.9);
  });
});
