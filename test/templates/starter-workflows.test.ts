import { expect, test } from 'vitest';
import { fillStarter, STARTER_KINDS } from '../../src/cli/init/starters.js';
import { includesState } from '../../src/domain/issue.js';
import { ADAPTERS } from '../../src/tracker/adapters.js';
import { loadWorkflow } from '../../src/workflow/load-workflow.js';
import { compilePrompts } from '../../templates/prompts.js';
import { compilePrompt } from '../../templates/render-prompt.js';
import { issue } from '../support/builders.js';
import { optionsWith, writeWorkflow } from '../workflow/workflow-fixture.js';

const CASES = STARTER_KINDS.flatMap((tracker) =>
  [false, true].map((hasSteps) => ({ kind: tracker.kind, tracker, hasSteps })),
);

const OWN = {
  ...{ project: null, label: 'baton', command: 'codex app-server', resultsDir: '/results' },
  ...{ repoUrl: 'git@example.org:team/project.git', baseBranch: null },
};

const trackerKinds = new Map(ADAPTERS.map(({ kind, defaults }) => [kind, defaults]));

async function load(text: string) {
  return (await loadWorkflow(writeWorkflow(text), { ...optionsWith(), trackerKinds })).workflow;
}

const comment = { author: 'ann', body: 'Use the other colour.', created_at: null };

function rendered(prompt: Parameters<typeof compilePrompt>[0], comments: (typeof comment)[]): string {
  return compilePrompt(prompt).render({
    issue: issue({ id: 'AB-1', comments }),
    attempt: null,
    run: { id: 'r', number: 1, reason: 'first', workspace: '/w' },
    workflow: { path: '/p/WORKFLOW.md', dir: '/p' },
  });
}

test.each(CASES)(
  'the starter for $kind loads without a warning, with a required label and the comments in its prompt (steps: $hasSteps)',
  async ({ kind, tracker, hasSteps }) => {
    const text = fillStarter({ ...OWN, tracker }, hasSteps);

    const workflow = await load(text);

    compilePrompts(workflow);
    expect(workflow.warnings).toEqual([]);
    expect(workflow.config.tracker).toMatchObject({ kind, requiredLabels: ['baton'] });
    expect(workflow.config.agent.maxConcurrentAgents).toBe(2);
    expect(rendered(workflow.prompt, [comment])).toMatch(
      /AB-1[\s\S]*said about it, oldest first:[\s\S]*ann: Use the other colour\./,
    );
    expect(rendered(workflow.prompt, [])).not.toMatch(/said about it|ann:/);
    expect(text).not.toMatch(/<tracker>|<repository>/);
  },
);

test.each(CASES)(
  'the starter for $kind uses states of the tracker, and its done state is not active (steps: $hasSteps)',
  async ({ kind, tracker, hasSteps }) => {
    const text = fillStarter({ ...OWN, tracker }, hasSteps);

    const { config } = await load(text);

    const { defaults } = ADAPTERS.find((entry) => entry.kind === kind) ?? {};
    const { activeStates, terminalStates } = config.tracker;
    expect(activeStates).toEqual(defaults?.activeStates);
    expect(defaults?.terminalStates).toEqual(expect.arrayContaining([...terminalStates]));
    expect(text).toContain(`move the issue to "${tracker.done}"`);
    expect(includesState(activeStates, tracker.done)).toBe(false);
    // In Redmine, Resolved waits for a person.
    expect(includesState(terminalStates, tracker.done)).toBe(kind !== 'redmine');
  },
);
