import type { JsonObject } from '../../../src/domain/json.js';
import { type FakeTracker, openFake } from './fake-tracker.js';

const NEVER = new AbortController().signal;

/** The raw tool of a run that works on a new issue, which is in the first state and has the state label "Review" to move to. */
export async function openRawTool<Fake extends FakeTracker>(fake: Fake, provider: JsonObject = {}) {
  const added = fake.add();
  const tracker = openFake(fake, { provider: { raw_tool: true, state_labels: ['Review'], ...provider } });
  const [tool] = tracker.tools();
  const [issue] = (await tracker.issuesByIds([added.id], NEVER)).issues;
  if (!tool || !issue) throw new Error('tool and issue exist');
  fake.server.requests.length = 0;
  const call = async (input: unknown) => {
    const result = await tool.call(input, { issue, runId: 'r' });
    return { ...result, json: JSON.parse(result.text) };
  };
  return { fake, added, tool, call };
}
