import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jqlText, ownClause } from '../../../src/tracker/jira/settings.js';
import { startFakeJira } from '../../support/trackers/fake-jira.js';
import { JqlError, tokensOf } from '../../support/trackers/fake-jira-jql.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;
/** Texts made of what means something in JQL. */
const HOSTILE = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc
    .array(fc.constantFrom('"', "'", '\\', ')', '(', ' OR ', 'project = X', '\n', '\r', ',', 'a', '\\"', 'n'))
    .map((parts) => parts.join('')),
);

test('a text stays within its quotation marks and is read unchanged', () => {
  fc.assert(
    fc.property(HOSTILE, (text) => {
      expect([...tokensOf(`a = ${jqlText(text)} AND b`)]).toEqual([
        ...[
          { kind: 'word', value: 'a' },
          { kind: 'sign', value: '=' },
          { kind: 'text', value: text },
        ],
        ...[
          { kind: 'word', value: 'AND' },
          { kind: 'word', value: 'b' },
        ],
      ]);
    }),
    { numRuns: 500 },
  );
});

test('a configured JQL stays in its parentheses or is refused', () => {
  fc.assert(
    fc.property(HOSTILE, (jql) => {
      const clause = attempt(() => ownClause(jql));
      const tokens = clause === null ? null : attempt(() => [...tokensOf(clause)]);
      // What is no JQL at all is for Jira to refuse.
      if (tokens === null) return;
      let depth = 0;
      tokens.forEach(({ kind, value }, n) => {
        if (kind === 'sign' && value === '(') depth++;
        if (kind === 'sign' && value === ')') depth--;
        expect(depth === 0).toBe(n === tokens.length - 1);
      });
    }),
    { numRuns: 500 },
  );
});

test.each([
  ['labels = a) OR (project = OTHER', 'parentheses'],
  ['(labels = a', 'parentheses'],
  ['labels = "a', 'quotation mark'],
  ["labels = 'a\\'", 'quotation mark'],
  ['labels = a ORDER BY rank', 'ORDER BY'],
  ['labels = a order\tby rank', 'control characters'],
])('%j is refused with the reason', async (jql, reason) => {
  const jira = await startFakeJira();

  const open = () => openFake(jira, { provider: { jql } });

  expect(open).toThrow(expect.objectContaining({ code: 'invalid_tracker_config' }));
  expect(open).toThrow(reason);
});

test.each(['summary ~ "order by me"', 'labels = "a)"', 'labels = \'(\' AND labels = "\\""', 'a in (b, c)'])(
  '%s is one clause',
  (jql) => {
    expect(ownClause(jql)).toBe(`(${jql})`);
  },
);

describe('what is sent', () => {
  const jqlSent = async (provider: { [key: string]: string | null }, ...states: string[]) => {
    const jira = await startFakeJira();
    jira.statuses.push({ id: '10009', name: 'To do' }, { id: '10010', name: 'A "b\\' });
    await openFake(jira, { provider }).issuesByStates(states, NEVER);
    return jira.server.requests.filter(({ url }) => url.pathname.endsWith('/search/jql')).map(({ body }) => body.jql);
  };

  test('project and states are named by id, with all ids of a name', async () => {
    expect(await jqlSent({}, 'TO DO', 'done', 'Done')).toEqual([
      'project = 10000 AND status in (10000, 10009, 10002) ORDER BY created ASC',
    ]);
  });

  test('without a project, states are named by quoted names', async () => {
    expect(await jqlSent({ project: null, jql: 'labels = a' }, 'a "B\\')).toEqual([
      '(labels = a) AND status in ("A \\"b\\\\") ORDER BY created ASC',
    ]);
  });

  test('a configured JQL narrows the project', async () => {
    expect(await jqlSent({ jql: 'labels = a OR labels = b' }, 'Done')).toEqual([
      'project = 10000 AND (labels = a OR labels = b) AND status in (10002) ORDER BY created ASC',
    ]);
  });

  test.each(['" OR project = OTHER OR status = "', '10000) OR project in (10001', 'nonsense'])(
    'a state that Jira does not have is not asked for, but told: %s',
    async (state) => {
      const jira = await startFakeJira();
      const { id } = jira.add({ state: 'Done' });
      const tracker = openFake(jira);

      const { issues, problems } = await tracker.issuesByStates([state, 'Done'], NEVER);
      const none = await tracker.issuesByStates([state], NEVER);

      expect(issues.map((issue) => issue.id)).toEqual([id]);
      expect(problems).toEqual([expect.stringContaining('Jira has no state')]);
      expect(none).toMatchObject({ issues: [], problems: [expect.stringContaining('Jira has no state')] });
    },
  );
});

test('the nearest state is suggested for an unknown one', async () => {
  const jira = await startFakeJira();

  const { problems } = await openFake(jira).issuesByStates(['In Progres'], NEVER);

  expect(problems?.[0]).toContain('Did you mean "In Progress"?');
});

function attempt<Value>(make: () => Value): Value | null {
  try {
    return make();
  } catch (error) {
    if (error instanceof JqlError || (error as { code?: string }).code === 'invalid_tracker_config') return null;
    throw error;
  }
}
