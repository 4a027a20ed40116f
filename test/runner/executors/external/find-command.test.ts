import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findCommand } from '../../../../runner/executors/external/find-command.js';
import { BatonError } from '../../../../src/domain/errors.js';
import { asOrdinaryUser } from '../../../support/as-ordinary-user.js';
import { forms } from '../../contain/workbench.js';
import { definition, externalStep } from './external-step.js';

let dir: string;

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton-command-')));
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

function program(name: string, mode = 0o755, text: string | Buffer = '#!/bin/sh\ncat >/dev/null\n'): string {
  const path = join(dir, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const find = (command: string, env: { readonly [name: string]: string } = {}) =>
  findCommand(definition({ command, dir }), env);

describe('the file of a command', () => {
  test('a relative path is resolved in the folder of the definition', async () => {
    const path = program('bin/acme');

    expect(await find('./bin/acme')).toBe(path);
    expect(await find('bin/acme')).toBe(path);
  });

  test('~/ is the HOME of the child', async () => {
    const path = program('bin/acme');

    expect(await find('~/bin/acme', { HOME: dir })).toBe(path);
    await expect(find('~/bin/acme')).rejects.toMatchObject({ code: 'AGENT_INVOCATION_FAILED' });
  });

  test('a bare name is the first executable on the PATH of the child', async () => {
    program('a/acme', 0o644);
    mkdirSync(join(dir, 'b/acme'), { recursive: true });
    const path = program('c/acme');
    program('d/acme');

    expect(await find('acme', { PATH: ['a', 'b', 'c', 'd'].map((name) => join(dir, name)).join(':') })).toBe(path);
  });

  test('relative folders of PATH are not searched, because they would be in the workspace', async () => {
    program('acme');
    const searchPath = [':', '.', '..', 'bin', ''].join(':');

    await expect(find('acme', { PATH: searchPath })).rejects.toMatchObject({ code: 'AGENT_INVOCATION_FAILED' });
  });
});

test('S0-42 the error of a failed start names command, PATH, definition and a remedy', async () => {
  const path = program('bin/acme', 0o644);

  await expect(find('bin/acme', { PATH: '/bin:/opt' })).rejects.toMatchObject({
    code: 'AGENT_INVOCATION_FAILED',
    message: `the command "bin/acme" of the executor acme cannot be started: ${path} is not executable for this user; PATH is "/bin:/opt". Install it, make it executable (chmod +x), or correct \`command\` of the executor acme in /project/WORKFLOW.md`,
  });
  await expect(find('acme', {})).rejects.toThrow('cannot be started: it was not found; PATH is ""');
  await expect(find('./bin')).rejects.toThrow(`${join(dir, 'bin')} is not a file`);
});

test('S0-42 a closed folder is an error in a path, and is skipped on PATH', async () => {
  const path = program('open/acme');
  await asOrdinaryUser(dir, async () => {
    mkdirSync(join(dir, 'mine'));
    chmodSync(join(dir, 'mine'), 0o000);
    const searchPath = ['mine', 'open'].map((name) => join(dir, name)).join(':');

    expect(await find('acme', { PATH: searchPath })).toBe(path);
    await expect(find('no-such', { PATH: searchPath })).rejects.toThrow('it was not found');
    await expect(find('mine/acme')).rejects.toThrow('is in a folder that this user may not enter');
    chmodSync(join(dir, 'mine'), 0o755);
  });
});

test('a path that could be read as a variable assignment is refused', async () => {
  program('a=b/acme');

  await expect(find('a=b/acme')).rejects.toThrow('has a "=" in its path');
});

test('S0-42 the error names a missing interpreter and Windows line ends', async () => {
  program('missing', 0o755, '#! /no/such/interpreter -x\n');
  program('windows', 0o755, '#!/bin/sh\r\ncat >/dev/null\r\n');

  await expect(find('./missing')).rejects.toThrow(
    'needs the interpreter "/no/such/interpreter", which does not exist; PATH is',
  );
  await expect(find('./windows')).rejects.toThrow('the file has Windows line ends');
});

test.each([
  ['without a first line like that', 'cat >/dev/null\n'],
  ['with nothing in it', ''],
  ['with an interpreter that is looked up', '#!/usr/bin/env no-such-program\n'],
  ['that is no script', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0xff])],
])('a file %s is started by the system', async (_, text) => {
  expect(await find(program('acme', 0o755, text))).toBe(join(dir, 'acme'));
});

describe.each(forms)('with isolation %s', (form) => {
  const isolation = form === 'none' ? 'none' : 'auto';

  test.each([
    ['missing', 'no-such-program', 'was not found'],
    ['not executable', './plain', 'is not executable'],
    ['for a missing interpreter', './broken', 'which does not exist'],
  ])(
    'S0-42 a command that is %s fails with AGENT_INVOCATION_FAILED, and nothing is started',
    async (_, command, words) => {
      program('plain', 0o644);
      program('broken', 0o755, '#!/no/such/interpreter\n');
      const step = await externalStep({ isolation, definition: { command, args: [], dir } });

      const outcome = await step.run();

      expect(outcome).toMatchObject({
        state: 'failed',
        error: { code: 'AGENT_INVOCATION_FAILED', retryable: false, message: expect.stringContaining(words) },
      });
      expect(step.started).toEqual([]);
    },
  );

  test('S0-01 a program that only a definition names runs', async () => {
    program('bin/acme');
    const step = await externalStep({ isolation, definition: { command: './bin/acme', args: [], dir } });

    expect(await step.run()).toMatchObject({ state: 'success' });
  });

  test('SEC-11 a NUL byte in env_set fails the step and nothing else', async () => {
    const step = await externalStep({ isolation });

    const outcome = await step.run({ envSet: { TITLE: 'a\0b' } });

    expect(outcome).toMatchObject({ state: 'failed', error: { code: 'invalid_environment' } });
  });
});

test('S0-42 a lack of processes or descriptors is reported as such and not blamed on the program', async () => {
  const start = async () => {
    throw new BatonError('spawn_failed', 'bash could not be started: spawn EMFILE');
  };
  const step = await externalStep({ overrides: { start } });

  const outcome = await step.run();

  expect(outcome).toMatchObject({
    error: { code: 'AGENT_INVOCATION_FAILED', message: expect.stringMatching(/EMFILE.*max_workers.*ulimit/) },
  });
  expect(outcome).toMatchObject({ error: { message: expect.not.stringContaining('first line') } });
});
