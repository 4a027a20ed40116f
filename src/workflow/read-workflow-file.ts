import { createHash } from 'node:crypto';
import path from 'node:path';
import { BatonError } from '../domain/errors.js';
import { assertNever } from '../domain/json.js';
import { type BoundedRead, type DefinitionFile, readBounded, readDefinitionFiles } from './definition-files.js';

/** Larger files are rejected before they fill memory. */
export const MAX_WORKFLOW_BYTES = 1_000_000;

/** The content of WORKFLOW.md and of the definitions that belong to it. */
export interface WorkflowFile {
  readonly path: string;
  readonly bytes: Buffer;
  /** SHA-256 of the file and of the definitions, if there are any. */
  readonly hash: string;
  /** Definitions of external executors beside the file and in the home. Absent: not read. */
  readonly definitions?: readonly DefinitionFile[];
}

/**
 * Never blocks: a FIFO, a device, a folder or a huge file is an error. Without `homeDir`, the definitions in the home are not
 * read. Throws `BatonError`.
 */
export async function readWorkflowFile(file: string, homeDir?: string): Promise<WorkflowFile> {
  const absolute = path.resolve(file);
  const read = await readBounded(absolute, MAX_WORKFLOW_BYTES);
  if (!('bytes' in read)) throw refusal(absolute, read);
  const { bytes } = read;
  const definitions = await readDefinitionFiles(path.dirname(absolute), homeDir);
  return { path: absolute, bytes, hash: hashOf(bytes, definitions), definitions };
}

function hashOf(bytes: Buffer, definitions: readonly DefinitionFile[]): string {
  const own = createHash('sha256').update(bytes).digest('hex');
  if (definitions.length === 0) return own;
  const all = createHash('sha256').update(own);
  for (const definition of definitions) {
    const content = definition.bytes === null ? definition.problem : sha256(definition.bytes);
    all.update(`\0${definition.path}\0${content}`);
  }
  return all.digest('hex');
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function refusal(file: string, read: Exclude<BoundedRead, { bytes: Buffer }>): BatonError {
  switch (read.refused) {
    case 'not_regular': {
      const text = `${file} is ${read.what}, not a regular file. Put a WORKFLOW.md there.`;
      return new BatonError('missing_workflow_file', text);
    }
    case 'too_large': {
      const text = `${file} is larger than ${MAX_WORKFLOW_BYTES} bytes. Shorten it: put long scripts into separate files.`;
      return new BatonError('invalid_workflow_config', text);
    }
    case 'unreadable':
      return unreadable(file, read.code, read.cause);
    default:
      return assertNever(read);
  }
}

function unreadable(file: string, code: string, cause: unknown): BatonError {
  const message =
    code === 'ENOENT' || code === 'ENOTDIR'
      ? `${file} does not exist. Give the path of a WORKFLOW.md; \`baton init\` writes one, and \`baton demo\` shows an example.`
      : code === 'EACCES' || code === 'EPERM'
        ? `${file} cannot be read by this user. Change its permissions, or give the path of a readable WORKFLOW.md.`
        : `${file} cannot be read (${code}). Give the path of a readable WORKFLOW.md.`;
  return new BatonError('missing_workflow_file', message, { code }, { cause });
}
