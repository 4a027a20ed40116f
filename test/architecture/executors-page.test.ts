import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { discoverCapabilities } from '../../runner/executors/capability/definitions.js';
import { loadWorkflow } from '../../src/workflow/load-workflow.js';
import { executorShape } from '../../src/workflow/steps/executor-definitions.js';
import { SERVICE_SHAPES } from '../../src/workflow/steps/services.js';
import { KIND_SHAPES, outputMembers, STEP_KINDS } from '../../src/workflow/steps/step-schema.js';
import { compilePrompts } from '../../templates/prompts.js';
import { optionsWith, temporaryFolder, writeWorkflow } from '../workflow/workflow-fixture.js';

const PAGE = readFileSync(fileURLToPath(new URL('../../docs/executors.md', import.meta.url)), 'utf8');
const BLOCKS = Array.from(PAGE.matchAll(/^```yaml\n([\s\S]*?)^```$/gm), ([, text]) => text ?? '');
const SERVICES = BLOCKS.find((block) => block.startsWith('services:')) ?? '';
const WORKFLOWS = BLOCKS.filter((block) => /^(?:steps|services):/m.test(block));

const skill = (name: string, inputs = '') => ({
  [`.baton/capabilities/skill/${name}/capability.yaml`]: `name: ${name}\ntype: skill\n${inputs}`,
  [`.baton/capabilities/skill/${name}/run.sh`]: 'true\n',
});

test.each(WORKFLOWS)('the example in docs/executors.md loads without a warning: %j', async (block) => {
  const dir = temporaryFolder();
  const files = { ...skill('leftovers'), ...skill('lint', 'inputs: [{ name: file, type: string, required: true }]\n') };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  const services = block === SERVICES ? '' : SERVICES;
  const file = writeWorkflow(`---\ntracker: { kind: local }\n${services}${block}---\nDo it.\n`, dir);
  const homeDir = temporaryFolder();
  const capabilities = (projectDir: string) => discoverCapabilities({ projectDir, homeDir });

  const { workflow } = await loadWorkflow(file, { ...optionsWith({ RUNNER_TOKEN: 'x' }), homeDir, capabilities });

  compilePrompts(workflow);
  expect(workflow.warnings).toEqual([]);
  expect(workflow.plan.isImplied).toBe(block === SERVICES);
});

test('docs/executors.md has examples of steps, shapes, activities and services', () => {
  expect(WORKFLOWS).toHaveLength(4);
});

test('docs/executors.md mentions every key of steps, executors, services and outputs', () => {
  const keys = [
    ...Object.values(KIND_SHAPES).flatMap((shape) => Object.keys(shape)),
    ...Object.keys(executorShape).filter((key) => key !== 'executor_type'),
    ...Object.values(SERVICE_SHAPES).flatMap((shape) => Object.keys(shape)),
    ...STEP_KINDS.flatMap((kind) => outputMembers(kind, 'cli') ?? []),
    ...(outputMembers('agent', 'http') ?? []),
    ...(outputMembers('loop', null) ?? []),
  ];

  const missing = [...new Set(keys)].filter((key) => !new RegExp(`\\b${key}\\b`).test(PAGE));
  expect(missing).toEqual([]);
});

test('every heading that docs/executors.md links to exists', () => {
  const headings = Array.from(PAGE.matchAll(/^#+ (.*)$/gm), ([, text = '']) =>
    text
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
  const links = Array.from(PAGE.matchAll(/\]\(#([^)]+)\)/g), ([, anchor]) => anchor ?? '');

  expect(links.filter((anchor) => !headings.includes(anchor))).toEqual([]);
});
