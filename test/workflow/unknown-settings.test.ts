import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BatonError } from '../../src/domain/errors.js';
import { parseWorkflow } from '../../src/workflow/load-workflow.js';
import { loadSettings, optionsWith, warningsOf } from './workflow-fixture.js';

test('an unknown key at any level causes a warning and no error', async () => {
  const { workflow, frontMatter } = await loadSettings(
    'tracker: {kind: local, knd: x}\nagnet: {a: 1}\nagent:\n  maxTurns: 3\n  zzz: 1\nmax_attempts: 4',
  );

  expect(warningsOf(workflow)).toEqual([
    'WORKFLOW.md:2:24 unknown key tracker.knd has no effect; did you mean tracker.kind?',
    'WORKFLOW.md:3:1 unknown key agnet has no effect; did you mean agent?',
    'WORKFLOW.md:5:3 unknown key agent.maxTurns has no effect; did you mean agent.max_turns?',
    'WORKFLOW.md:6:3 unknown key agent.zzz has no effect',
    'WORKFLOW.md:7:1 unknown key max_attempts has no effect; did you mean agent.max_attempts?',
  ]);
  expect(frontMatter).toMatchObject({ agnet: { a: 1 }, agent: { zzz: 1 } });
});

test('for arbitrary settings only BatonError is thrown', async () => {
  const key = fc.constantFrom(
    'tracker',
    'kind',
    'provider',
    'agent',
    'max_turns',
    'hooks',
    'codex',
    'steps',
    'workspace',
    'root',
    'api_key',
    'active_states',
    'max_concurrent_agents_by_state',
    '__proto__',
    'toString',
    'x',
  );
  const leaf = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.constantFrom(null, 'local', '$HOME', '~/x', ''),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
    ),
  }));

  await fc.assert(
    fc.asyncProperty(fc.dictionary(key, tree, { maxKeys: 6 }), async (settings) => {
      const bytes = Buffer.from(`---\n${JSON.stringify(settings)}\n---\nHi`);
      await parseWorkflow({ path: '/nowhere/WORKFLOW.md', bytes, hash: 'h' }, optionsWith()).catch((error: unknown) => {
        if (!(error instanceof BatonError)) throw error;
      });
    }),
    { numRuns: 400 },
  );
});
