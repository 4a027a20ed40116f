import { startFakeGithub } from '../../support/trackers/fake-github.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

/** The tool of a run that works on issue 1. */
export async function withTool(raw_tool: boolean | string = true) {
  const fake = await startFakeGithub();
  const added = fake.add();
  const tracker = openFake(fake, { provider: { raw_tool, state_labels: ['Review'] } });
  const [tool] = tracker.tools();
  const [issue] = (await tracker.issuesByIds([added.id], NEVER)).issues;
  if (!tool || !issue) throw new Error('both are there');
  fake.server.requests.length = 0;
  const call = async (input: unknown) => {
    const result = await tool.call(input, { issue, runId: 'r' });
    return { ...result, told: JSON.parse(result.text) };
  };
  return { fake, added, tool, call };
}
