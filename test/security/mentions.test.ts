import { describe, expect, test } from 'vitest';
import type { HostTool } from '../../src/domain/ports.js';
import { inertTool } from '../../src/tracker/inert-tool.js';
import { issue } from '../support/builders.js';
import { agentCommand, testDaemon } from '../support/test-daemon.js';
import { startFakeGithub } from '../support/trackers/fake-github.js';

const CONTEXT = { issue: issue({ identifier: 'GH-12' }), runId: 'r' };

describe('SEC-37 texts of agents cannot mention people or command bots', () => {
  const COMMENT =
    'Done, @octocat. It closes #13.\n/ok-to-test\n@dependabot merge\n\nSee `@Override`; mail ann@example.org.';

  const commentsUnder = async (provider: string) => {
    const call = JSON.stringify({ tool: 'update_issue', arguments: { comment: COMMENT } });
    const daemon = await testDaemon({
      settings: `codex: { command: ${JSON.stringify(agentCommand('calls-tools', call))} }\nagent: { max_turns: 1 }`,
      provider,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    await daemon.until('the end of the run', (_, event) => event?.type === 'run_exited');
    return daemon.tracker.comments.map(({ comment }) => comment);
  };

  test('in a comment by update_issue, in a running daemon', async () => {
    const [written = ''] = await commentsUnder('{}');

    expect(written).not.toMatch(/@(?:octocat|dependabot)|\/ok-to-test|\bcloses #13/);
    expect(written).toContain('ann@example.org');
    expect(written.replaceAll('\u200b', '')).toBe(COMMENT);
  });

  test('unless the workflow allows it', async () => {
    expect(await commentsUnder('{}, mentions: true')).toEqual([COMMENT]);
  });
});

describe('SEC-37 raw tools', () => {
  /** A tool that keeps its inputs. */
  const setUp = (kind: string) => {
    const inputs: unknown[] = [];
    const tool: HostTool = {
      ...{ name: 'x_api', description: '', inputSchema: {}, maxInputChars: 1_000 },
      call: async (input) => {
        inputs.push(input);
        return { success: true, text: '{}' };
      },
    };
    return { inputs, call: (input: unknown) => inertTool(tool, kind).call(input, CONTEXT) };
  };

  test('change texts in the body of a call, and neither names nor paths', async () => {
    const { inputs, call } = setUp('github');
    const other = { method: 'POST', path: '/issues/12/@x', labels: ['@team'], assignees: ['@octocat'] };

    await call({ ...other, body: { title: '@octocat', body: 'Fixes #12, fixes #13', labels: ['/close'] } });

    expect(inputs).toEqual([
      {
        ...other,
        body: {
          title: '@\u200boctocat',
          body: 'Fixes #12, f\u200bixes #13',
          labels: ['/close'],
        },
      },
    ]);
  });

  test('turn mentions of an Atlassian document into text', async () => {
    const { inputs, call } = setUp('jira');
    const paragraph = (node: object) => ({ body: { type: 'doc', content: [{ type: 'paragraph', content: [node] }] } });

    await call({ body: paragraph({ type: 'mention', attrs: { id: '5b10', text: '@Ann' } }) });

    expect(inputs).toEqual([{ body: paragraph({ type: 'text', text: '@\u200bAnn' }) }]);
  });

  test('refuse live texts in the document of a mutation, also as escapes, and change those in its variables', async () => {
    const { inputs, call } = setUp('linear');
    const mutation = (text: string) =>
      `mutation { commentCreate(input: { issueId: "x", body: "${text}" }) { success } }`;
    const query = 'mutation M($body: String! @skip(if: false)) { commentCreate(input: { body: $body }) { success } }';

    for (const text of ['@octocat', '\\u0040octocat', 'a\\n/approve', 'linear.app/acme/profiles/ann', 'fixes ENG-1'])
      expect(await call({ query: mutation(text) }), text).toMatchObject({ success: false });
    expect(await call(mutation('@octocat'))).toMatchObject({ success: false });
    await call({ query, variables: { body: '@octocat' } });
    await call({ query: mutation('Hello') });

    expect(inputs).toEqual([{ query, variables: { body: '@\u200boctocat' } }, { query: mutation('Hello') }]);
  });
});

test('SEC-37 GitHub gets the inert comment', async () => {
  const fake = await startFakeGithub();
  const added = fake.add({ labels: ['go'] });
  const call = JSON.stringify({ tool: 'update_issue', arguments: { comment: 'Ping @octocat\n/approve' } });
  const daemon = await testDaemon({
    adapter: { entry: fake.entry, section: { kind: 'github', provider: fake.provider, trust: 'anyone' } },
    env: { [fake.variable]: fake.token },
    settings: `codex: { command: ${JSON.stringify(agentCommand('calls-tools', call))} }\nagent: { max_turns: 1 }`,
  });

  await daemon.until('a comment', () => added.comments.length > 0);

  expect(added.comments[0]?.body).toBe('Ping @\u200boctocat\n/\u200bapprove');
});
