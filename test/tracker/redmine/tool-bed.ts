import type { JsonObject } from '../../../src/domain/json.js';
import { startFakeRedmine } from '../../support/trackers/fake-redmine.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

/** The run's own issue is 1; 2 is another one of the project, 3 lies in another project, 4 in a subproject. */
export async function toolOf(provider: JsonObject = {}) {
  const fake = await startFakeRedmine();
  for (let n = 0; n < 4; n++) fake.add();
  fake.projectOf.set('3', 3);
  fake.projectOf.set('4', 2);
  const tracker = openFake(fake, { provider: { raw_tool: true, ...provider } });
  const [issue] = (await tracker.issuesByIds(['1'], NEVER)).issues;
  const [tool] = tracker.tools();
  if (!tool || !issue) throw new Error('both are there');
  fake.server.requests.length = 0;
  const call = async (method: string, path: string, body?: object) => {
    const { success, text, movedTo, limitedUntilMs } = await tool.call({ method, path, body }, { issue, runId: 'r' });
    return { success, movedTo, limitedUntilMs, told: JSON.parse(text) };
  };
  const changes = () => fake.server.requests.filter(({ method }) => method !== 'GET');
  return { fake, tool, call, changes };
}
