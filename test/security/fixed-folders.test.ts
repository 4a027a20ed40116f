import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { hasNamespaces, Installation, USERS, type User } from '../support/installed-daemon.js';

let installation: Installation;

// Copying and removing an installation takes a while on a busy machine.
const SETUP_LIMIT_MS = 60_000;

beforeAll(() => {
  installation = new Installation();
}, SETUP_LIMIT_MS);

afterAll(() => installation.close(), SETUP_LIMIT_MS);

/** Lets an agent or a hook of this user run the script in `work/B-0`. `$top` is the folder around home, state and workspaces. */
async function runAs(process: 'agent' | 'hook', user: User, script: string) {
  const command = JSON.stringify(`export top=$(cd ../..; pwd); { ${script}; } > $top/out 2>&1; exit 1`);
  const settings = process === 'agent' ? `codex: { command: ${command} }` : `hooks: { before_run: ${command} }`;
  const daemon = installation.start(user, { settings, issues: 1 });
  onTestFinished(() => daemon.remove());
  await daemon.line(({ msg }) => msg === 'run failed' || msg === 'run ended');
  daemon.process.kill('SIGTERM');
  await daemon.exited;
  return { dir: daemon.dir, output: readFileSync(join(daemon.dir, 'out'), 'utf8') };
}

const able = USERS.filter(hasNamespaces);
// A file without any test would fail, so there are skipped ones.
describe.runIf(able.length > 0).each(able.length > 0 ? able : USERS)(
  'the folders around what is hidden from an agent of %s',
  (user) => {
    const places = ['home', 'home/.local', 'home/.local/state', 'home/.config', 'work'];
    const ways: [string, (path: string) => string][] = [
      ['renamed', (path) => `mv ${path} ${path}2`],
      ['renamed by a relative path', (path) => `(cd ${path}/.. && mv $(basename ${path}) moved)`],
      [
        'exchanged',
        (path) =>
          `mkdir -p ${path}-new; perl -e 'syscall(316, -100, $ARGV[0], -100, "$ARGV[0]-new", 2) == 0 and print "exchanged"' ${path}`,
      ],
    ];
    // Root can undo mounts, as documented.
    if (user !== 'root')
      ways.push([
        'renamed in a nested namespace',
        (path) => `unshare --user --map-root-user --mount sh -c 'umount -l ${path}; mv ${path} ${path}2'`,
      ]);

    test.each(ways)('are not %s', async (_, attempt) => {
      const paths = [...places.map((place) => `$top/${place}`), '$top'];

      const { dir, output } = await runAs('agent', user, paths.map(attempt).join('; '));

      expect(output).not.toContain('exchanged');
      expect(readdirSync(dir)).toEqual(expect.arrayContaining(['home', 'state', 'work']));
      for (const place of places) expect(existsSync(join(dir, place)), place).toBe(true);
      expect([dir, ...places.map((place) => join(dir, place))].filter((path) => existsSync(`${path}2`))).toEqual([]);
      expect(existsSync(join(dir, 'work/.baton/owners'))).toBe(true);
      expect(existsSync(join(dir, 'home/.local/state/baton'))).toBe(true);
    });

    test.each(['agent', 'hook'] as const)(
      'an %s still renames and links files of its workspace, and uses git there',
      async (process) => {
        const steps = [
          '[ -z "$OLDPWD" ]',
          'mkdir a && touch a/file && mv a b && ln b/file "$PWD/hard" && mv "$PWD/hard" c',
          'mv ../B-0 ../B-1 && mv ../B-1 ../B-0 && cd ../B-0',
          '[ "$(/bin/pwd)" = "$top/work/B-0" ]',
          'export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@x',
          'git init -q r && cd r && git commit -q --allow-empty -m x && git worktree add -q ../tree && cd .. && git clone -q --local r clone',
          'touch "$TMPDIR/t" && mv "$TMPDIR/t" . && ls -d tree/.git clone/.git',
        ];

        const { output } = await runAs(process, user, `${steps.join(' && ')} && echo all-good`);

        expect(output.trim().split('\n').at(-1)).toBe('all-good');
      },
    );

    test('are the same for an agent and a hook, so that pnpm uses one store', async () => {
      const link = 'touch file; for up in .. ../.. ../../home; do ln file $up/linked && echo linked $up; done; true';

      const [agent, hook] = await Promise.all([runAs('agent', user, link), runAs('hook', user, link)]);

      const linked = [agent, hook].map(({ output }) => output.match(/^linked .*$/gm));
      expect(linked).toEqual([['linked ..'], ['linked ..']]);
    });
  },
);
