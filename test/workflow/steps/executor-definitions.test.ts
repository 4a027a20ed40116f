import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readWorkflowFile } from '../../../src/workflow/read-workflow-file.js';
import { temporaryFolder, warningsOf, writeWorkflow } from '../workflow-fixture.js';
import { definition, faultOf, loadSteps, stepOf, writeAll } from './plan-fixture.js';

const IN_PROJECT = '.baton/executors/acme.yaml';
const USES_ACME = 'steps: [{id: publish, kind: external, executor: acme}]';

const usable = async (spec: string) =>
  (await loadSteps('', { project: { [IN_PROJECT]: definition('acme', spec) } })).workflow.plan.executors.acme;

test('S0-01 S0-02 S0-03 S0-07 S0-08 S0-09 S0-10 S0-11 a YAML document registers an executor under its name', async () => {
  const text = `schemaVersion: 2
kind: Executor
metadata:
  name: acme
spec:
  executor_type: external
  command: ./bin/harness
  args: [run, --json, last]
  env: {ACME_PROFILE: ci, LEVEL: 3}
  model_flag: --model
  timeout_seconds: 1800
`;

  const loaded = await loadSteps(USES_ACME, { project: { [IN_PROJECT]: text } });

  expect(loaded.workflow.plan.executors).toEqual({
    acme: {
      name: 'acme',
      type: 'external',
      command: './bin/harness',
      args: ['run', '--json', 'last'],
      env: { ACME_PROFILE: 'ci', LEVEL: '3' },
      modelFlag: '--model',
      timeoutSeconds: 1800,
      source: 'project',
      file: IN_PROJECT,
      dir: path.join(loaded.workflow.dir, '.baton/executors'),
    },
  });
  expect(stepOf(loaded, 'publish')).toMatchObject({ timeoutMs: 1_800_000, action: { executor: 'acme' } });
  expect(loaded.workflow.warnings).toEqual([]);
});

test('S0-03 direct_agent is an alias of the same transport', async () => {
  expect(await usable('executor_type: direct_agent\n  command: x')).toMatchObject({
    type: 'direct_agent',
    command: 'x',
  });
});

test('S0-07 S0-08 S0-09 S0-10 every key except the command is optional', async () => {
  expect(await usable('command: x')).toMatchObject({
    type: 'external',
    args: [],
    env: {},
    modelFlag: null,
    timeoutSeconds: null,
  });
});

test('S0-01 an entry under executors in WORKFLOW.md also registers an executor', async () => {
  const { workflow } = await loadSteps('executors: {acme: {command: harness, args: [a]}}');

  expect(workflow.plan.executors.acme).toMatchObject({
    command: 'harness',
    args: ['a'],
    source: 'workflow',
    file: 'WORKFLOW.md',
    dir: workflow.dir,
  });
});

test.each([
  ['absent', 'executor_type: external'],
  ['empty', 'command:'],
  ['blank', 'command: "  "'],
])(
  'S0-04 S0-05 S0-06 a definition whose command is %s is skipped with one warning; the others load',
  async (_, spec) => {
    const { workflow } = await loadSteps('', {
      project: { [IN_PROJECT]: definition('acme', spec), '.baton/executors/other.yml': definition('other') },
    });

    expect(Object.keys(workflow.plan.executors)).toEqual(['other']);
    expect(warningsOf(workflow)).toEqual([`${IN_PROJECT}:6:3 executor "acme": it has no command, so it is skipped`]);
  },
);

test('S0-05 an entry in WORKFLOW.md without a command is skipped too, unless command is misspelt', async () => {
  const { workflow } = await loadSteps('executors: {acme: {args: [a]}}');
  const misspelt = await faultOf('executors: {acme: {comand: a}}');

  expect(workflow.plan.executors).toEqual({});
  expect(warningsOf(workflow)).toEqual(['WORKFLOW.md:3:19 executor "acme": it has no command, so it is skipped']);
  expect(misspelt.message).toContain('executor "acme": unknown key comand; did you mean command?');
});

test('S0-06 a step that uses a skipped definition is rejected with the reason', async () => {
  const error = await faultOf(USES_ACME, { project: { [IN_PROJECT]: definition('acme', 'args: []') } });

  expect(error.code).toBe('EXECUTOR_NOT_FOUND');
  expect(error.message).toBe('WORKFLOW.md:3:49 step "publish": the executor "acme" cannot be used: it has no command');
});

test('a step that uses an undefined executor is rejected with the nearest name', async () => {
  const error = await faultOf(`executors: {acme: {command: x}}\n${USES_ACME.replace('acme', 'acmee')}`);

  expect(error.code).toBe('EXECUTOR_NOT_FOUND');
  expect(error.message).toContain('step "publish": no executor "acmee" exists');
  expect(error.message).toContain('did you mean acme?');
  expect(error.message).toContain('`baton executor list`');
});

test('S0-12 a file whose name differs from metadata.name is rejected', async () => {
  const error = await faultOf('', { project: { [IN_PROJECT]: definition('acme-harness') } });

  expect(error.code).toBe('invalid_workflow_config');
  expect(error.message).toContain(`${IN_PROJECT}:4:9 executor "acme": metadata.name must be the name of the file`);
});

test('S0-13 unknown keys under spec are accepted', async () => {
  expect(await usable('command: x\n  sandbox: {deep: [1]}\n  allow_fallback: true')).toMatchObject({ command: 'x' });
});

test('S0-14 a definition with an unknown executor_type is skipped with a warning; the others load', async () => {
  const { workflow } = await loadSteps('executors: {inline: {executor_type: wasm, command: x}}', {
    project: {
      [IN_PROJECT]: definition('acme', 'executor_type: telepathy'),
      '.baton/executors/b.yaml': definition('b'),
    },
  });

  expect(Object.keys(workflow.plan.executors)).toEqual(['b']);
  expect(warningsOf(workflow)).toEqual([
    'WORKFLOW.md:3:37 executor "inline": executor_type "wasm" is not known here, so it is skipped',
    `${IN_PROJECT}:6:18 executor "acme": executor_type "telepathy" is not known here, so it is skipped`,
  ]);
});

test('S0-15 the shipped example is a valid definition and is not registered', async () => {
  const example = fileURLToPath(new URL('../../../templates/executors/external.example.yaml', import.meta.url));
  const copied = { '.baton/executors/acme-harness.yaml': readFileSync(example, 'utf8') };

  const { workflow } = await loadSteps('', { project: copied });

  expect(workflow.plan.executors['acme-harness']).toMatchObject({ type: 'external' });
  expect(workflow.warnings).toEqual([]);
  expect((await loadSteps('')).workflow.plan.executors).toEqual({});
});

test('S0-16 for the same name WORKFLOW.md overrides the project, and the project overrides the home', async () => {
  const home = {
    [IN_PROJECT]: definition('acme', 'command: global'),
    '.baton/executors/b.yaml': definition('b', 'command: global'),
  };
  const project = {
    [IN_PROJECT]: definition('acme', 'command: project'),
    '.baton/executors/c.yml': definition('c', 'command: project'),
  };

  const { workflow } = await loadSteps('executors: {acme: {command: inline}}', { home, project });
  const near = await loadSteps('', { home, project });

  const commands = Object.values(workflow.plan.executors).map(
    ({ name, command, source }) => `${name} ${command} ${source}`,
  );
  expect(commands.sort()).toEqual(['acme inline workflow', 'b global global', 'c project project']);
  expect(near.workflow.plan.executors.acme).toMatchObject({ command: 'project', source: 'project' });
});

test('two definitions of the same name in one folder are both rejected', async () => {
  const both = { [IN_PROJECT]: definition('acme'), '.baton/executors/acme.yml': definition('acme') };

  const error = await faultOf('', { project: both });

  expect(error.message.split('\n')).toEqual([
    '.baton/executors/acme.yaml:1:1 executor "acme": acme.yaml is not the only definition of this name in its folder; remove one',
    '.baton/executors/acme.yml:1:1 executor "acme": acme.yml is not the only definition of this name in its folder; remove one',
  ]);
});

test.each([
  [
    'S1-28 schemaVersion 1',
    definition('acme').replace('schemaVersion: 2', 'schemaVersion: 1'),
    'schemaVersion 1 is no longer supported',
  ],
  [
    'S0-02 no schemaVersion',
    definition('acme').replace('schemaVersion: 2\n', ''),
    'schemaVersion must be 2, got nothing',
  ],
  ['S1-29 another kind', definition('acme').replace('kind: Executor', 'kind: Job'), 'kind must be Executor, got "Job"'],
  ['S0-02 no metadata', 'schemaVersion: 2\nkind: Executor\nspec: {command: x}\n', 'metadata.name must be the name'],
  ['a list', '- a\n', 'must be a map with schemaVersion'],
  ['bad YAML', 'a: [\n', 'executor "acme":'],
  ['wrong types', definition('acme', 'command: x\n  args: run'), 'args must be a list of texts, got "run"'],
  ['a NUL', definition('acme', 'command: x\n  args: ["a\\0"]'), 'must not contain a NUL'],
  ['data of a run', definition('acme', 'command: "x-${issue.title}"'), '${issue.title} is never filled in here'],
])(
  '%s is an error with the file name in the project; in the home it is a warning unless a step uses it',
  async (_, text, part) => {
    const inProject = await faultOf('', { project: { [IN_PROJECT]: text } });
    const inHome = await loadSteps('', { home: { [IN_PROJECT]: text } });
    const wanted = await faultOf(USES_ACME, { home: { [IN_PROJECT]: text } });

    expect(inProject.message).toMatch(/^\.baton\/executors\/acme\.yaml:\d+:\d+ executor "acme": /);
    expect(inProject.message).toContain(part);
    expect(warningsOf(inHome.workflow)[0]).toMatch(/^~\/\.baton\/executors\/acme\.yaml:\d+:\d+ executor "acme": /);
    expect(inHome.workflow.plan.executors).toEqual({});
    expect(wanted.code).toBe('EXECUTOR_NOT_FOUND');
  },
);

test('SEC-26 a definition that is not a regular file, too large or not UTF-8 is rejected without blocking', async () => {
  const dir = temporaryFolder();
  const folder = path.join(dir, '.baton/executors');
  mkdirSync(path.join(folder, 'folder.yaml'), { recursive: true });
  writeFileSync(path.join(folder, 'binary.yaml'), Buffer.from([0xff, 0xfe]));
  writeFileSync(path.join(folder, 'large.yaml'), '');
  truncateSync(path.join(folder, 'large.yaml'), 1_000_000_000);
  symlinkSync('loop.yaml', path.join(folder, 'loop.yaml'));
  execFileSync('mkfifo', [path.join(folder, 'fifo.yaml')]);
  const file = writeWorkflow('---\ntracker: {kind: local}\n---\n', dir);

  const { definitions = [] } = await readWorkflowFile(file);

  expect(definitions.map(({ name, problem }) => `${path.basename(name)} ${problem}`)).toEqual([
    'binary.yaml null',
    'fifo.yaml is a FIFO, not a regular file',
    'folder.yaml is a folder, not a regular file',
    'large.yaml is larger than 65536 bytes',
    'loop.yaml cannot be read (ELOOP)',
  ]);
});

test('a folder with too many definitions is rejected completely', async () => {
  const many = Object.fromEntries(
    Array.from({ length: 201 }, (_, index) => [`.baton/executors/e${index}.yaml`, definition(`e${index}`)]),
  );

  expect((await faultOf('', { project: many })).message).toContain(
    'has more than 200 definitions; none of them is used',
  );
});

test('a file in place of the definitions folder is reported', async () => {
  expect((await faultOf('', { project: { '.baton/executors': 'x' } })).message).toBe(
    '.baton/executors:1:1 the folder of executors cannot be read as a folder (ENOTDIR)',
  );
});

test('a literal secret in a definition causes a warning and is returned for masking', async () => {
  const spec = 'command: x\n  env: {ACME_TOKEN: canary1, OTHER: plain, BY_NAME_TOKEN: $SET}';

  const { workflow, literalSecrets } = await loadSteps('executors: {b: {command: x, env: {API_KEY: canary2}}}', {
    project: { [IN_PROJECT]: definition('acme', spec) },
  });

  expect([...literalSecrets].sort()).toEqual(['canary1', 'canary2']);
  expect(workflow.warnings).toHaveLength(2);
  expect(warningsOf(workflow).join()).not.toContain('canary');
});

test.each(['__proto__', 'constructor'])('an executor named %s does not bypass the registry', async (name) => {
  const error = await faultOf(`steps: [{id: a, kind: external, executor: ${name}}]`);

  expect(error.code).toBe('EXECUTOR_NOT_FOUND');
});

test('the content hash covers the definitions of the project and of the home', async () => {
  const [dir, home] = [temporaryFolder(), temporaryFolder()];
  const file = writeWorkflow('---\ntracker: {kind: local}\n---\n', dir);
  const hashes = [(await readWorkflowFile(file, home)).hash];

  writeAll(dir, { [IN_PROJECT]: definition('acme') });
  hashes.push((await readWorkflowFile(file, home)).hash);
  writeAll(dir, { [IN_PROJECT]: definition('acme', 'command: y') });
  hashes.push((await readWorkflowFile(file, home)).hash);
  writeAll(home, { [IN_PROJECT]: definition('acme') });
  hashes.push((await readWorkflowFile(file, home)).hash);

  expect(new Set(hashes).size).toBe(4);
  expect((await readWorkflowFile(file, home)).hash).toBe(hashes[3]);
  expect((await readWorkflowFile(file, home)).hash).not.toBe((await readWorkflowFile(file)).hash);
});

test('the definitions folder is read once when WORKFLOW.md is in the home', async () => {
  const home = temporaryFolder();
  writeAll(home, { [IN_PROJECT]: definition('acme') });
  const file = writeWorkflow('---\ntracker: {kind: local}\n---\n', home);

  expect((await readWorkflowFile(file, home)).definitions).toHaveLength(1);
});
