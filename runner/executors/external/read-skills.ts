import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { Parser, parseDocument } from 'yaml';
import { BatonError } from '../../../src/domain/errors.js';
import { isMap, isNestedDeeper, type JsonObject } from '../../../src/domain/json.js';
import type { Skill } from './envelope.js';

const MAX_SKILL_BYTES = 1_048_576;

/** Reads the skill files of a step. They must be in the folder of WORKFLOW.md or below. Throws `AGENT_INVOCATION_FAILED`. */
export async function readSkills(paths: readonly string[], dir: string): Promise<readonly Skill[]> {
  const skills: Skill[] = [];
  for (const path of paths) skills.push(await readSkill(path, dir));
  return skills;
}

async function readSkill(path: string, dir: string): Promise<Skill> {
  const bytes = await readConfined(path, dir).catch((error: unknown) => {
    if (error instanceof BatonError) throw error;
    throw refused(path, `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`, error);
  });
  const content = decode(bytes, path);
  const meta = frontMatterMap(content);
  const hash = createHash('sha256').update(bytes).digest('hex');
  return { id: path, content_hash: hash, content, ...(meta === null ? {} : { meta }) };
}

async function readConfined(path: string, dir: string): Promise<Buffer> {
  const [root, file] = await Promise.all([realpath(dir), realpath(resolve(dir, path))]);
  if (!file.startsWith(root.endsWith(sep) ? root : root + sep)) {
    throw refused(path, `leads outside ${root}, the folder of the workflow`);
  }
  // A real path has no links; a link that appears now is an attack. O_NONBLOCK prevents blocking on a FIFO.
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return await readBounded(handle, path);
  } finally {
    await handle.close();
  }
}

async function readBounded(handle: FileHandle, path: string): Promise<Buffer> {
  if (!(await handle.stat()).isFile()) throw refused(path, 'is not a regular file');
  const chunks: Buffer[] = [];
  for (let total = 0; ; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(65_536), 0, 65_536, null);
    if (bytesRead === 0) return Buffer.concat(chunks);
    total += bytesRead;
    if (total > MAX_SKILL_BYTES) throw refused(path, `is larger than ${MAX_SKILL_BYTES} bytes`);
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

function decode(bytes: Buffer, path: string): string {
  try {
    // Keep a byte order mark: the hash covers the whole content.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw refused(path, 'is not valid UTF-8', error);
  }
}

function refused(path: string, problem: string, cause?: unknown): BatonError {
  const message = `the skill ${JSON.stringify(path)} ${problem}: nothing was started. Correct \`skills\` of the step`;
  return new BatonError('AGENT_INVOCATION_FAILED', message, { path }, { cause });
}

/** Limits, because parsing blocks the event loop. */
const MAX_CHARS = 16_384;
const MAX_DEPTH = 32;
const MAX_ALIASES = 100;

/**
 * Parses the front matter of a text. Returns null unless it is a plain map. Never throws: skills are optional data of other tools,
 * so the strict parser of WORKFLOW.md, which reports positions, does not fit.
 */
export function frontMatterMap(text: string): JsonObject | null {
  const [, yaml] = /^\ufeff?---[ \t]*\r?\n((?:[^\n]*\n)*?)---[ \t]*\r?(?:\n|$)/.exec(text.slice(0, MAX_CHARS)) ?? [];
  if (yaml === undefined || isNestedDeeper(new Parser().parse(yaml), MAX_DEPTH)) return null;
  try {
    const document = parseDocument(yaml, { logLevel: 'silent' });
    if (document.errors.length > 0) return null;
    // Through JSON text, which has no NaN and no dates.
    const value: unknown = JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: MAX_ALIASES })) ?? 'null');
    return isMap(value) ? value : null;
  } catch {
    // Too many aliases, or a cycle. The executor gets the content without `meta`.
    return null;
  }
}
