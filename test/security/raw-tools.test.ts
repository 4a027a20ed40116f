import { describe, expect, test } from 'vitest';
import { trackerFindings } from '../../src/cli/check/tracker-findings.js';
import { loadWorkflow } from '../../src/workflow/load-workflow.js';
import { contextFor, type Given } from '../cli/check/tracker-context.js';
import { world } from '../cli/cli-fixture.js';
import { startFakeLinear } from '../support/trackers/fake-linear.js';
import { openFake } from '../support/trackers/fake-tracker.js';

const FLAT = 'tracker: { kind: linear, project_slug: my-project-0123456789ab }';
const NESTED = 'tracker: { kind: linear, provider: { project_slug: my-project-0123456789ab } }';
const NESTED_ON = 'tracker: { kind: linear, provider: { project_slug: my-project-0123456789ab, raw_tool: true } }';
const FLAT_OFF = 'tracker: { kind: linear, project_slug: my-project-0123456789ab, provider: { raw_tool: false } }';

/** The tools that agents get under a workflow, besides `update_issue`. */
async function toolsUnder(settings: string): Promise<string[]> {
  const fake = await startFakeLinear();
  const io = world();
  const { workflow } = await loadWorkflow(io.write('WORKFLOW.md', `---\n${settings}\n---\nDo it.\n`), {
    ...{ env: {}, homeDir: io.homeDir },
    trackerKinds: new Map([[fake.kind, fake.entry.defaults]]),
  });
  const { tracker } = workflow.config;
  const config = { ...tracker, provider: { ...tracker.provider, endpoint: fake.provider.endpoint ?? null } };
  return openFake(fake, { config })
    .tools()
    .map(({ name }) => name);
}

describe('SEC-22 linear_graphql, which no setting can limit to a project', () => {
  test.each([
    ['is off', NESTED, []],
    ["is on in Symphony's flat form, whose prompts name it", FLAT, ['linear_graphql']],
    ['is on when the workflow says so', NESTED_ON, ['linear_graphql']],
    ["is off in Symphony's flat form when the workflow says so", FLAT_OFF, []],
  ])('%s', async (_, settings, tools) => {
    expect(await toolsUnder(settings)).toEqual(tools);
  });

  test('check warns while it is on, and when a prompt names it and it is off', async () => {
    const fake = await startFakeLinear();
    const warnings = async (given: Given, prompt = '') => {
      const context = await contextFor(fake, given);
      const { workflow } = context.loaded;
      const text = `${workflow.prompt.text}${prompt}`;
      const loaded = { ...context.loaded, workflow: { ...workflow, prompt: { ...workflow.prompt, text } } };
      const { findings } = await trackerFindings({ ...context, loaded });
      return findings.filter(({ level }) => level === 'warning').map(({ code, message }) => `${code} ${message}`);
    };

    expect(await warnings({ provider: { raw_tool: true } })).toContainEqual(expect.stringMatching(/graphql is on/));
    expect(await warnings({ provider: { raw_tool: 'read_only' } })).toContainEqual(expect.stringMatching(/is on/));
    expect(await warnings({ tracker: { assignee: 'me' } })).toContainEqual(expect.stringMatching(/flat form/));
    expect(await warnings({})).not.toContainEqual(expect.stringMatching(/graphql/));
    expect(await warnings({}, 'Use linear_graphql.')).toContainEqual(expect.stringMatching(/^tool_off/));
  });
});
