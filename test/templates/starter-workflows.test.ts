import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { compilePrompt } from '../../templates/render-prompt.js';
import { issue } from '../support/builders.js';
import { load, writeWorkflow } from '../workflow/workflow-fixture.js';

const FOLDER = fileURLToPath(new URL('../../templates/workflows', import.meta.url));

test.each(readdirSync(FOLDER))(
  'the starter %s is a valid workflow: no warning, a gate, a prompt that renders',
  async (name) => {
    const { workflow } = await load(writeWorkflow(readFileSync(join(FOLDER, name), 'utf8')));

    const prompt = compilePrompt(workflow.prompt).render({
      issue: issue('AB-1'),
      attempt: null,
      run: { id: 'r', number: 1, reason: 'first', workspace: '/w' },
      workflow: { path: '/p/WORKFLOW.md', dir: '/p' },
    });
    expect(workflow.warnings).toEqual([]);
    expect(workflow.config.tracker.requiredLabels).toEqual(['baton']);
    expect(workflow.config.agent.maxConcurrentAgents).toBe(2);
    expect(prompt).toContain('AB-1');
  },
);
