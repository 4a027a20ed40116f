import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/json.js';
import { FAKE_KINDS } from '../support/trackers/fake-kinds.js';
import { openFake } from '../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;
const document = {
  version: 1,
  type: 'doc',
  content: [{ type: 'paragraph', content: [{ type: 'text', text: 'Hi.' }] }],
};

/** A call of the raw tool that comments on the run's own issue. */
const COMMENTS: { readonly [kind in keyof typeof FAKE_KINDS]: JsonObject } = {
  linear: { query: 'mutation { commentCreate(input: {issueId: "ENG-1", body: "Hi."}) { success } }' },
  github: { method: 'POST', path: '/issues/1/comments', body: { body: 'Hi.' } },
  gitlab: { method: 'POST', path: '/issues/1/notes', body: { body: 'Hi.' } },
  jira: { method: 'POST', path: '/issue/ABC-1/comment', body: { body: document } },
  redmine: { method: 'PUT', path: '/issues/1.json', body: { issue: { notes: 'Hi.' } } },
};
const KINDS = Object.keys(FAKE_KINDS) as (keyof typeof FAKE_KINDS)[];

describe('a move of a person is not taken for that of an agent who changed something else', () => {
  test.each(KINDS)('%s', async (kind) => {
    const { start, terminal } = FAKE_KINDS[kind];
    const fake = await start();
    const added = fake.add();
    const tracker = openFake(fake, { provider: { raw_tool: true } });
    const [issue] = (await tracker.issuesByIds([added.id], NEVER)).issues;
    if (!issue) throw new Error('it is there');

    added.state = terminal;
    const told = await tracker.tools()[0]?.call(COMMENTS[kind], { issue, runId: 'r' });

    expect(added.comments).toHaveLength(1);
    expect([told?.success, told?.movedTo]).toEqual([true, undefined]);
  });
});
