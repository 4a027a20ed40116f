import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { MAX_WORKFLOW_BYTES, readWorkflowFile } from '../../src/workflow/read-workflow-file.js';
import { asOrdinaryUser } from '../support/as-ordinary-user.js';
import { errorOf, temporaryFolder, writeWorkflow } from './workflow-fixture.js';

test('the result contains the whole file and the SHA-256 of its bytes', async () => {
  const file = writeWorkflow('hello');

  const read = await readWorkflowFile(file);

  expect(read.bytes.toString()).toBe('hello');
  expect(read.hash).toBe(createHash('sha256').update('hello').digest('hex'));
});

test('a symlink is followed', async () => {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, 'real.md'), 'hello');
  symlinkSync('real.md', path.join(folder, 'WORKFLOW.md'));

  const read = await readWorkflowFile(path.join(folder, 'WORKFLOW.md'));

  expect(read.bytes.toString()).toBe('hello');
});

test('a missing file is missing_workflow_file; the error contains the path', async () => {
  const file = path.join(temporaryFolder(), 'WORKFLOW.md');

  const error = await errorOf(readWorkflowFile(file));

  expect(error.code).toBe('missing_workflow_file');
  expect(error.message).toContain(`${file} does not exist`);
});

test('a file without read permission is missing_workflow_file', async () => {
  const file = writeWorkflow('hello');
  chmodSync(file, 0o000);

  const error = await asOrdinaryUser(path.dirname(file), () => errorOf(readWorkflowFile(file)));

  expect(error.code).toBe('missing_workflow_file');
  expect(error.message).toContain('cannot be read by this user');
});

test('SEC-26 a FIFO in place of WORKFLOW.md is an error and does not block', async () => {
  const file = path.join(temporaryFolder(), 'WORKFLOW.md');
  execFileSync('mkfifo', [file]);

  const error = await errorOf(readWorkflowFile(file));

  expect(error.code).toBe('missing_workflow_file');
  expect(error.message).toContain('is a FIFO');
});

test('SEC-26 a folder, a device and a loop of symlinks in place of WORKFLOW.md are errors', async () => {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, 'WORKFLOW.md'));
  symlinkSync('loop.md', path.join(folder, 'loop.md'));

  const codes = [];
  for (const file of [path.join(folder, 'WORKFLOW.md'), '/dev/zero', path.join(folder, 'loop.md')]) {
    codes.push((await errorOf(readWorkflowFile(file))).code);
  }

  expect(codes).toEqual(['missing_workflow_file', 'missing_workflow_file', 'missing_workflow_file']);
});

test('SEC-26 a file of 1 GB is rejected without being read', async () => {
  const file = writeWorkflow('');
  truncateSync(file, 1_000_000_000);

  const error = await errorOf(readWorkflowFile(file));

  expect(error.code).toBe('invalid_workflow_config');
  expect(error.message).toContain(`larger than ${MAX_WORKFLOW_BYTES} bytes`);
});

test('a file of exactly the maximum size is read', async () => {
  const file = writeWorkflow(Buffer.alloc(MAX_WORKFLOW_BYTES, 'x'));

  expect((await readWorkflowFile(file)).bytes.length).toBe(MAX_WORKFLOW_BYTES);
});
