import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { world } from '../cli-fixture.js';
import { capability, describeCapability, executor } from './capability-fixture.js';

describe('baton capability list', () => {
  test('shows every executor with its inputs and its source, without a WORKFLOW.md', async () => {
    const here = world();
    executor(here.dir, 'mine', ['power', 'talent'], '');
    executor(here.homeDir, 'theirs', ['power'], '');
    const inputs = [
      { name: 'goal', type: 'string', required: true },
      { name: 'depth', type: 'number' },
    ];
    describeCapability(here.dir, 'power', 'plan', { inputs });
    describeCapability(here.dir, 'dream', 'fly');

    const code = await capability(here, 'list');

    expect(code).toBe(0);
    const lines = here
      .out()
      .split('\n')
      .map((line) => line.trim().replaceAll(/ {2,}/g, ' | '));
    expect(lines).toContain('mine 1.0.0 | power, talent | project | .baton/capabilities/executors/mine/dist/index.js');
    expect(lines).toContainEqual(expect.stringMatching(/^theirs 1\.0\.0 \| power \| global \| \/.*index\.js$/));
    expect(lines).toContainEqual(expect.stringMatching(/^skill 1\.0\.0 \| skill \| built-in \| /));
    expect(lines).toContain('power/plan | by mine | project | goal: string, depth: number?');
    expect(lines).toContain('dream/fly | no executor | project | no inputs');
    expect(here.out()).not.toContain('Problems');
  });

  test('shows which executors must be built, and which were skipped and why', async () => {
    const here = world();
    executor(here.dir, 'unbuilt', ['power'], '');
    rmSync(join(here.dir, '.baton/capabilities/executors/unbuilt/dist'), { recursive: true });
    here.write('.baton/capabilities/executors/empty/notes.txt', '');

    await capability(here, 'list');

    expect(here.out()).toMatch(/unbuilt 1\.0\.0 .*\(entry missing: build it\)\n/);
    expect(here.out()).toMatch(/\nProblems\n(?:.*\n)* {2}error +.*empty has no executor\.yaml\n/);
  });

  test('as JSON has the same', async () => {
    const here = world();
    executor(here.dir, 'mine', ['power'], '');
    describeCapability(here.dir, 'power', 'plan');

    const code = await capability(here, 'list', '--json');

    const { executors, capabilities, problems } = JSON.parse(here.out());
    expect(code).toBe(0);
    expect(executors.at(-1)).toMatchObject({ name: 'mine', types: ['power'], source: 'project', entry_missing: false });
    expect(capabilities).toMatchObject([{ type: 'power', name: 'plan', executor: 'mine', inputs: [] }]);
    expect(problems).toEqual([]);
  });

  test('uses the folder of the named workflow, which must exist', async () => {
    const here = world();
    here.write('other/WORKFLOW.md', 'nothing that could be loaded');
    executor(join(here.dir, 'other'), 'elsewhere', ['power'], '');

    const found = await capability(here, 'list', 'other/WORKFLOW.md');
    const missing = await capability(here, 'list', 'none.md');

    expect([found, missing]).toEqual([0, 2]);
    expect(here.out()).toContain('elsewhere');
    expect(here.err()).toMatch(/^baton: missing_workflow_file: there is no .*none\.md/);
  });

  test('SEC-17 shows escapes where a definition holds control characters', async () => {
    const here = world();
    executor(here.dir, 'mine', ['power'], '');
    here.write('.baton/capabilities/executors/bad/executor.yaml', 'name: "\u202egpj"\nsupportedTypes: [x]\n');

    await capability(here, 'list');
    await capability(here, 'list', '--json');

    expect(here.out()).not.toContain('\u202e');
    expect(here.out()).toContain('\\u202egpj');
  });
});

describe('baton capability create', () => {
  test('S3-71 creates an executor in the project that is discovered and runs unchanged', async () => {
    const here = world();
    describeCapability(here.dir, 'power', 'plan');

    const made = await capability(
      here,
      'create',
      'mine',
      '--type',
      'power',
      '--type',
      'talent',
      '--description',
      'Mine',
    );
    const told = here.out();
    await capability(here, 'list');
    const ran = await capability(here, 'run', 'power', 'plan');

    expect([made, ran]).toEqual([0, 0]);
    expect(told).toContain(
      'Created .baton/capabilities/executors/mine, which runs capabilities of type power, talent.\n',
    );
    expect(here.out()).toMatch(/mine 1\.0\.0 +power, talent +project/);
    const yaml = readFileSync(join(here.dir, '.baton/capabilities/executors/mine/executor.yaml'), 'utf8');
    expect(yaml).toContain('Mine');
  });

  test('S3-71 --global creates it in the home folder', async () => {
    const here = world();

    expect(await capability(here, 'create', 'mine', '--type', 'power', '--global')).toBe(0);

    expect(existsSync(join(here.homeDir, '.baton/capabilities/executors/mine/dist/index.js'))).toBe(true);
    expect(existsSync(join(here.dir, '.baton'))).toBe(false);
  });

  test.each([
    ['../x', /INVALID_REQUEST: .*is not a valid executor name/],
    ['there', /INVALID_REQUEST: .*already exists/],
  ])('%s is refused with exit 2 and changes nothing', async (name, message) => {
    const here = world();
    here.write('.baton/capabilities/executors/there/mine.txt', 'mine');

    expect(await capability(here, 'create', name, '--type', 'power')).toBe(2);

    expect(here.err()).toMatch(message);
    expect(existsSync(join(here.dir, '.baton/capabilities/executors/there/executor.yaml'))).toBe(false);
  });

  test('requires a type', async () => {
    const io = world();

    expect(await capability(io, 'create', 'mine')).toBe(2);
    expect(io.err()).toMatch(/--type/);
  });
});
