import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { toolOutputs } from './mock-model.js';
import { moveIssue, run, say } from './mock-replies.js';
import { type TestBed, type TestBedOptions, testBed } from './test-bed.js';

/** Runs the commands in one turn of the real Codex, and returns what each of them printed. */
async function outputsOf(bed: TestBed, commands: readonly string[], description?: string): Promise<readonly string[]> {
  const { board, model, start } = bed;
  board.add('TASK-1', 'Run commands', description);
  model.script('TASK-1', ...commands.map((command) => run(command)), moveIssue('Done'), say('I ran them.'));

  const baton = start();
  const ended = await baton.line('run ended', { issue_identifier: 'TASK-1' }, 60_000);
  await baton.stop();

  expect(ended).toMatchObject({ outcome: 'success' });
  return toolOutputs(model.requests.at(-1)).slice(0, commands.length);
}

/** Some people keep the files of their home folder in a repository. */
const LINKS = { '.kube': 'dotfiles/kube', '.pypirc': 'dotfiles/pypirc' };

async function secretBed(options: TestBedOptions = {}): Promise<{ bed: TestBed; secrets: readonly string[] }> {
  const bed = await testBed(options);
  const { dir } = bed;
  const secrets = [
    ...[
      '.ssh/id_x',
      '.aws/credentials',
      '.netrc',
      '.npmrc',
      '.config/gh/hosts.yml',
      '.cargo/credentials.toml',
      '.local/share/uv/credentials/credentials.toml',
      '.nvm/versions/node/v22/etc/npmrc',
      '.kube/config',
      '.pypirc',
      'notes.txt',
    ].map((name) => join(dir, 'home', name)),
    join(dir, 'codex-home', 'auth.json'),
    join(dir, 'workspaces', 'TASK-2', 'secret'),
    join(dir, 'workspaces', '.baton', 'secret'),
    join(dir, 'home', '.local/state/baton/other/token'),
    join(dir, 'state', 'token'),
  ];
  mkdirSync(join(dir, 'home', LINKS['.kube']), { recursive: true, mode: 0o700 });
  for (const [name, target] of Object.entries(LINKS)) symlinkSync(join(dir, 'home', target), join(dir, 'home', name));
  for (const path of secrets) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, `canary of ${path}, _authToken=x\n`);
  }
  return { bed, secrets };
}

test.each(['auto', 'none'])(
  'SEC-31 with the defaults a command reads no key, no login, no other workspace and no state of a daemon, with isolation %s',
  async (isolation) => {
    const { bed, secrets } = await secretBed({ settings: `runtime: { isolation: ${isolation} }` });

    const [read = '', listed = ''] = await outputsOf(bed, [
      `for f in ${secrets.map((path) => `'${path}'`).join(' ')}; do cat "$f"; done; cat /etc/shadow /etc/shadow-; echo over`,
      `ls -A '${bed.dir}/workspaces' '${bed.dir}/home/.ssh' /proc/1/root/; echo over`,
    ]);

    expect(read).toContain('over');
    expect(read).not.toContain('canary');
    expect(read).not.toContain('root:');
    expect(listed).not.toContain('TASK-2');
    expect(listed).not.toContain('id_x');
  },
  90_000,
);

test('SEC-31 where no namespaces can be made, no command runs, so none reads a secret', async () => {
  // Codex is in a user namespace without a mapping: the kernel makes no further namespaces there. It takes itself for the user nobody, and
  // its folder of that name would keep the Codex of the real one from running commands.
  const folder = '/tmp/codex-daemon-65534';
  if (!existsSync(folder)) onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const options = { settings: 'runtime: { isolation: none }', startedBy: ['unshare', '--user', '--'] };
  const { bed, secrets } = await secretBed(options);

  const [read = ''] = await outputsOf(bed, [`cat ${secrets.map((path) => `'${path}'`).join(' ')}; echo over`]);

  expect(read).toMatch(/exited with code [1-9]/);
  expect(read).not.toContain('canary');
  expect(read).not.toContain('over\n');
}, 90_000);

test.each([
  ['~', ['notes.txt']],
  ['~/.config/gh/hosts.yml', ['.config/gh/hosts.yml']],
])(
  'SEC-31 codex.readable with %s opens no keys but those that it names',
  async (readable, expected) => {
    const { bed, secrets } = await secretBed({ codex: `readable: ["${readable}"]` });

    const [read = ''] = await outputsOf(bed, [`cat ${secrets.map((path) => `'${path}'`).join(' ')}`]);

    const seen = secrets.filter((path) => read.includes(`canary of ${path}`));
    expect(seen).toEqual(expected.map((name) => join(bed.dir, 'home', name)));
  },
  90_000,
);

test('SEC-31 a rule that a person once allowed for a command does not lift the sandbox', async () => {
  const { bed } = await secretBed();
  mkdirSync(join(bed.dir, 'codex-home', 'rules'));
  writeFileSync(
    join(bed.dir, 'codex-home', 'rules', 'default.rules'),
    'prefix_rule(pattern=["cat"], decision="allow")\n',
  );

  const [read = ''] = await outputsOf(bed, [`cat '${bed.dir}/home/.ssh/id_x'`]);

  expect(read).toContain('Permission denied');
  expect(read).not.toContain('canary');
}, 90_000);

test('SEC-31 the key of the model and other secrets are not in the environment of commands', async () => {
  const bed = await testBed({
    env: {
      OPENAI_API_KEY: 'canary-1',
      AZURE_OPENAI_API_KEY: 'canary-2',
      SOME_TOKEN: 'canary-3',
      WANTED_TOKEN: 'wanted',
    },
    settings: 'runtime: { env_allow: ["*_TOKEN", WANTED_TOKEN] }',
  });
  writeFileSync(join(bed.dir, 'home', '.profile'), 'export PROFILE_API_KEY=canary-4\n');
  writeFileSync(join(bed.dir, 'home', '.bashrc'), 'export PROFILE_API_KEY=canary-5\n');

  const [env = ''] = await outputsOf(bed, ['env; cat /proc/*/environ | tr "\\0" "\\n"; echo over']);

  expect(env).toContain('over');
  expect(env).not.toContain('canary');
  expect(env).not.toContain('key-of-the-mock-model');
  expect(env).toContain('WANTED_TOKEN=wanted');
}, 90_000);

test('SEC-33 settings of the repository start nothing, the MCP servers of the user are off, and no setting of the user changes', async () => {
  const bed = await testBed({
    settings: `hooks:
  after_create: |
    git init --quiet . && mkdir .codex && cp ../../evil.toml .codex/config.toml`,
  });
  const { dir, model } = bed;
  const server = (name: string) =>
    `[mcp_servers.${name}]\ncommand = "sh"\nargs = ["-c", "touch '${dir}/started-${name}'; cat"]\n`;
  writeFileSync(join(dir, 'evil.toml'), `notify = ["touch", "${dir}/started-notify"]\n${server('evil')}`);
  const config = join(dir, 'codex-home', 'config.toml');
  // Left over from an earlier version, which let Codex trust each workspace.
  const trust = `[projects."${join(dir, 'workspaces', 'TASK-1')}"]\ntrust_level = "trusted"\n`;
  writeFileSync(config, `${readFileSync(config, 'utf8')}\n${server('own')}\n${trust}`);
  const before = readFileSync(config, 'utf8');

  await outputsOf(bed, ['true']);

  expect(readFileSync(config, 'utf8')).toBe(before);
  expect(execFileSync('ls', [dir], { encoding: 'utf8' })).not.toContain('started-');
  expect(model.requests[0]?.tools).toContain('update_issue');
  for (const tool of ['web_search', 'create_goal', 'list_mcp_resources', 'multi_agent_v1']) {
    expect(model.requests[0]?.tools).not.toContain(tool);
  }
}, 90_000);

/** A workspace with a git repository, in which `script` runs. The folder `private` beside the workspaces has skills and a note. */
async function repositoryBed(script: string): Promise<TestBed> {
  const bed = await testBed({ settings: `hooks: { after_create: "git init --quiet . && bash ../../repository.sh" }` });
  writeFileSync(join(bed.dir, 'repository.sh'), `set -e\n${script}\n`);
  const skill = join(bed.dir, 'private', 'skills', 'priv');
  mkdirSync(skill, { recursive: true });
  writeFileSync(join(skill, 'SKILL.md'), '---\nname: priv\ndescription: canary 1\n---\ncanary 2\n');
  writeFileSync(join(bed.dir, 'private', 'note'), 'canary 3\n');
  return bed;
}

test('SEC-33 no skill of the repository is active, and files that its links or the issue name are not read', async () => {
  const bed = await repositoryBed(
    `for name in .agents/skills/own .codex/skills/other packages/tool; do
  mkdir -p $name && printf -- '---\\nname: %s\\ndescription: repository text\\n---\\nrepository text\\n' "$(basename $name)" > $name/SKILL.md
done
ln -s ../../packages/tool .agents/skills/tool
ln -s ../../private/note AGENTS.md
ln -s ../../private/note AGENTS.override.md
ln -s ../../private/note CLAUDE.md`,
  );
  const files = `use $own $other $tool $priv [$priv](${bed.dir}/private/skills/priv/SKILL.md) [$note](skill://${bed.dir}/private/note) @${bed.dir}/private/note @AGENTS.md`;

  await outputsOf(bed, ['true'], files);

  const sent = JSON.stringify(bed.model.requests);
  expect(sent).toContain('use $own');
  expect(sent).not.toContain('canary');
  expect(sent).not.toContain('repository text');
}, 90_000);

test.each([
  ['a folder of skills', 'mkdir -p .agents/skills && ln -s ../../../../private/skills .agents/skills/z'],
  ['all skills', 'mkdir .codex && ln -s ../../../private/skills .codex/skills'],
  [
    'a folder inside the workspace that links on',
    'mkdir -p docs .agents && ln -s ../docs .agents/skills && ln -s ../../../private/skills docs/z',
  ],
  ['a place that does not exist yet', 'mkdir -p .agents/skills && ln -s ../../later .agents/skills/z'],
  ['the folder of agents', 'mkdir docs && ln -s docs .agents'],
])(
  'SEC-33 a link for %s parks the issue before the first turn',
  async (_, script) => {
    const { board, model, start } = await repositoryBed(script);
    board.add('TASK-1', 'use $priv');

    const baton = start();
    const ended = await baton.line('run ended', { issue_identifier: 'TASK-1' }, 60_000);
    await baton.stop();

    expect(JSON.stringify(ended)).toContain('agent_skill_link');
    expect(model.requests).toEqual([]);
  },
  90_000,
);

test('SEC-33 the agent cannot exchange skills that a link of the repository leads to', async () => {
  const bed = await repositoryBed(
    'mkdir -p .agents/skills docs/a/skills && ln -s ../../docs/a/skills .agents/skills/z',
  );
  const [output = ''] = await outputsOf(bed, [
    `ln -s ${bed.dir}/private docs/a/skills/p; mv docs moved; mv docs/a docs/moved; ln -s ${bed.dir}/private .agents/skills/p; echo written > docs/a/new && cat docs/a/new`,
  ]);

  expect(output.match(/Read-only file system/g)).toHaveLength(2);
  expect(output.match(/Device or resource busy/g)).toHaveLength(2);
  expect(output).toContain('written');
}, 90_000);

test('an MCP server that codex.mcp_servers names is started', async () => {
  const bed = await testBed({ codex: 'mcp_servers: [own], web_search: true' });
  const config = join(bed.dir, 'codex-home', 'config.toml');
  const own = `[mcp_servers.own]\ncommand = "sh"\nargs = ["-c", "touch '${bed.dir}/started-own'; cat"]\n`;
  writeFileSync(config, `${readFileSync(config, 'utf8')}\n${own}`);

  await outputsOf(bed, ['true']);

  expect(execFileSync('ls', [bed.dir], { encoding: 'utf8' })).toContain('started-own');
  expect(bed.model.requests[0]?.tools).toContain('web_search');
}, 90_000);

test('SEC-33 danger-full-access in the settings of the user does not loosen the sandbox', async () => {
  const { bed } = await secretBed();
  const config = join(bed.dir, 'codex-home', 'config.toml');
  const loose = 'sandbox_mode = "danger-full-access"\napproval_policy = "on-request"\n';
  const network = '[sandbox_workspace_write]\nnetwork_access = true\n';
  writeFileSync(config, `${loose}${readFileSync(config, 'utf8')}\n${network}`);

  const [read = ''] = await outputsOf(bed, [
    `cat '${bed.dir}/home/.ssh/id_x'; touch '${bed.dir}/outside'; echo > /dev/tcp/127.0.0.1/${new URL(bed.model.baseUrl).port}; echo over`,
  ]);

  expect(read).toContain('over');
  expect(read).not.toContain('canary');
  expect(read).toContain('Operation not permitted');
  expect(execFileSync('ls', [bed.dir], { encoding: 'utf8' })).not.toContain('outside');
}, 90_000);

test('ordinary work goes: git, node, npm, python, a compiler, temporary files, apply_patch and rg', async () => {
  const bed = await testBed({
    settings: `hooks:
  after_create: |
    git init --quiet . && git -c user.name=a -c user.email=a@b commit --quiet --allow-empty -m first
    echo '{"name":"x","version":"1.0.0","scripts":{"test":"node -e \\"console.log(40+2)\\""}}' > package.json`,
  });

  const outputs = await outputsOf(bed, [
    'git status && git log --oneline && git diff',
    'npm test && npm ls && npm install --offline --no-audit --no-fund && npm ci --offline',
    'python3 -c "import json, tempfile; print(tempfile.mkdtemp(), 6*7)"',
    "echo 'int main(void) { return 0; }' > a.c && if command -v cc; then cc a.c -o a.out && ./a.out; fi && echo compiled",
    'x=$(mktemp) && echo hello > "$x" && cat "$x" && echo x > /tmp/y && sort < /dev/null && date',
    "apply_patch <<'END'\n*** Begin Patch\n*** Add File: new.txt\n+patched\n*** End Patch\nEND\ncat new.txt && rg patched new.txt",
  ]);

  for (const output of outputs) expect(output).toContain('Process exited with code 0');
  expect(outputs[1]).toContain('42');
  expect(outputs[3]).toContain('compiled');
}, 120_000);
