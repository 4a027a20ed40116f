import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { SAMPLE_ISSUES } from '../../src/cli/demo.js';
import { moveIssue, run, say } from './mock-replies.js';
import { testBed } from './test-bed.js';

const MAIN = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));

test('baton demo --agent codex has the real Codex finish every sample issue', async () => {
  const { dir, env, model } = await testBed();
  const bin = join(dir, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'codex'), `#!/bin/sh\nexec '${process.execPath}' '${inject('codex')}' "$@"\n`);
  chmodSync(join(bin, 'codex'), 0o755);
  // The usual place: a login shell replaces PATH.
  writeFileSync(join(dir, 'home', '.profile'), `PATH="${bin}:$PATH"\n`);
  // In reverse order: a later issue names its blocker.
  for (const { id } of [...SAMPLE_ISSUES].reverse())
    model.script(id, run(`echo ${id} > made-by-codex.txt`), moveIssue('Done', 'Made it.'), say('Done.'));

  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'demo', '--agent', 'codex'], { cwd: dir, env });

  expect(stdout).toContain('worked on by Codex');
  expect(stdout).toContain('All 5 issues are done.');
  for (const { id } of SAMPLE_ISSUES) {
    const shown = ['-C', join(dir, 'baton-demo/project.git'), 'show', `baton/${id}:made-by-codex.txt`];
    expect(execFileSync('git', shown, { encoding: 'utf8' })).toBe(`${id}\n`);
  }
});
