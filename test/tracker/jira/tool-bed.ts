import type { JsonObject } from '../../../src/domain/json.js';
import { startFakeJira } from '../../support/trackers/fake-jira.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

/** The run's own issue is ABC-1 (10001); ABC-2 (10002) is another one of the project, OTHER-3 (10003) lies elsewhere and was once ABC-3. */
export async function toolOf(provider: JsonObject = {}) {
  const jira = await startFakeJira();
  const comments = (author: string) => [
    { author, isMember: true, body: `of ${author}`, createdAt: '2026-01-01T00:00:00Z' },
  ];
  jira.add({ comments: comments('ann') });
  jira.add();
  jira.add({ identifier: 'OTHER-3', comments: comments('eve') });
  jira.oldKeys.set('ABC-3', '10003');
  const tracker = openFake(jira, { provider: { raw_tool: true, ...provider } });
  const [issue] = (await tracker.issuesByIds(['10001'], NEVER)).issues;
  const [tool] = tracker.tools();
  if (!tool || !issue) throw new Error('both are there');
  jira.server.requests.length = 0;
  const call = async (method: string, path: string, body?: unknown) => {
    const { success, text, movedTo } = await tool.call({ method, path, body }, { issue, runId: 'r' });
    return { success, movedTo, told: JSON.parse(text) };
  };
  const sent = () =>
    jira.server.requests.map(({ method, url }) => `${method} ${url.pathname.replace('/rest/api/3', '')}`);
  /** What went to Jira besides the looks at where an issue is. */
  const acted = () => sent().filter((line) => !/^GET \/issue\/[\w-]+$/.test(line));
  return { jira, tool, issue, call, sent, acted };
}
