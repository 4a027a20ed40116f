import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentCommand, testDaemon } from '../support/test-daemon.js';
import { startFakeLinear } from '../support/trackers/fake-linear.js';

/** In the form of the files that OpenAI ships with Symphony: flat Linear keys, its states, its prompt style. */
const workflow = (endpoint: string, command: string) => `---
tracker:
  kind: linear
  endpoint: ${endpoint}
  api_key: $LINEAR_API_KEY
  project_slug: "baton-0123456789ab"
  assignee: me
  active_states:
    - Todo
    - In Progress
    - Merging
    - Rework
  terminal_states:
    - Closed
    - Cancelled
    - Canceled
    - Duplicate
    - Done
polling:
  interval_ms: 50
workspace:
  root: ./workspaces
hooks:
  after_create: |
    echo created > README.md
    echo after_create >> ../../trace.txt
  before_remove: |
    echo before_remove >> ../../trace.txt
agent:
  max_concurrent_agents: 10
  max_turns: 20
codex:
  command: ${JSON.stringify(command)}
  approval_policy: never
  thread_sandbox: workspace-write
  turn_sandbox_policy:
    type: workspaceWrite
---

You have a Linear ticket to work on: \`{{ issue.identifier }}\`

{% if attempt %}
This is attempt #{{ attempt }}: go on from what is in the workspace.
{% endif %}

Title: {{ issue.title }}
Status: {{ issue.state }}
Priority: {{ issue.priority }}
Labels: {{ issue.labels | join: ", " }}
Branch: {{ issue.branch_name }}
URL: {{ issue.url }}
{% for blocker in issue.blocked_by %}Blocked by {{ blocker.identifier }} ({{ blocker.state }})
{% endfor %}
{% if issue.description %}
{{ issue.description }}
{% else %}
Nobody described it.
{% endif %}

Use \`linear_graphql\` to keep the ticket up to date.
`;

test('a workflow of Symphony runs unchanged: dispatched, prompted, moved with linear_graphql, and cleaned up', async () => {
  const fake = await startFakeLinear();
  const done = fake.add({ state: 'Done' });
  const ticket = fake.add({
    ...{ title: 'Greet people', description: 'Say {{ hello }}.', priority: 2, labels: ['Feature', 'UI'] },
    ...{ assignee: 'baton', blockedBy: [done.id] },
  });
  const blocked = fake.add({ assignee: 'baton', blockedBy: [ticket.id], state: 'Backlog' });
  const elsewhere = fake.add({ assignee: 'bob' });
  const command = agentCommand('speaks-graphql', 'In Progress', 'Done');
  const daemon = await testDaemon({
    adapter: { entry: fake.entry, section: {} },
    env: { LINEAR_API_KEY: fake.token },
    before: (dir) => writeFile(join(dir, 'WORKFLOW.md'), workflow(`${fake.server.url}/graphql`, command)),
  });

  await daemon.until('the ticket is done and its workspace gone', (state, event) => {
    return event?.type === 'workspace_removed' && Object.keys(state.claims).length === 0;
  });

  const turns = (await readFile(join(daemon.dir, 'turns.jsonl'), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(turns).toEqual(Array(2).fill({ prompt: expect.any(String), said: true, moved: true }));
  expect(turns[0].prompt.replace(/\n{2,}/g, '\n')).toBe(
    [
      'You have a Linear ticket to work on: `ENG-2`',
      'Title: Greet people',
      'Status: Todo',
      'Priority: 2',
      'Labels: feature, ui',
      'Branch: ann/eng-2',
      'URL: https://linear.app/acme/issue/ENG-2',
      'Blocked by ENG-1 (Done)',
      'Say {{ hello }}.',
      'Use `linear_graphql` to keep the ticket up to date.',
    ].join('\n'),
  );
  expect(ticket.state).toBe('Done');
  expect(ticket.comments.map(({ body }) => body)).toEqual(['Working towards In Progress.', 'Working towards Done.']);
  expect([blocked.state, elsewhere.state]).toEqual(['Backlog', 'Todo']);
  expect(await readFile(join(daemon.dir, 'trace.txt'), 'utf8')).toBe('after_create\nbefore_remove\n');
  expect((await readdir(daemon.workspaces)).filter((name) => name !== '.baton')).toEqual([]);
  expect(daemon.state.records[ticket.id]?.runs).toBe(1);
  expect(await daemon.stop()).toBe(0);
  expect(JSON.stringify(daemon.logLines)).not.toContain(fake.token);
});
