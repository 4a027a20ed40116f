import { open } from 'node:fs/promises';
import { BatonError } from '../../domain/errors.js';

export interface BundleHeader {
  /** Commits that the bundle builds on and does not hold. */
  readonly prerequisites: readonly string[];
  /** What it holds: full names of refs, and where they point. */
  readonly refs: ReadonlyMap<string, string>;
  /** Where the header ends and the pack begins. */
  readonly packOffset: number;
}

const MAX_HEADER_BYTES = 16_000_000;
const CHUNK_BYTES = 65_536;
const END = Buffer.from('\n\n');
const OBJECT_ID = '([0-9a-f]{40}|[0-9a-f]{64})';

/** Reads the text in front of a bundle's pack, as gitformat-bundle(5) tells it. */
export async function readBundleHeader(path: string): Promise<BundleHeader> {
  const bytes = await headerBytes(path);
  const [signature = '', ...lines] = bytes.toString('utf8').split('\n');
  if (!/^# v[23] git bundle$/.test(signature)) throw damaged(path, 'it does not begin as one');
  const prerequisites: string[] = [];
  const refs = new Map<string, string>();
  for (const line of lines) {
    const [, needed] = new RegExp(`^-${OBJECT_ID}(?: |$)`).exec(line) ?? [];
    const [, id, name] = new RegExp(`^${OBJECT_ID} (refs/.+)$`).exec(line) ?? [];
    if (needed !== undefined) prerequisites.push(needed);
    else if (id !== undefined && name !== undefined) refs.set(name, id);
    else if (!line.startsWith('@')) throw damaged(path, 'its header cannot be read');
  }
  if (refs.size === 0) throw damaged(path, 'it names no branch');
  return { prerequisites, refs, packOffset: bytes.length + END.length };
}

async function headerBytes(path: string): Promise<Buffer> {
  const handle = await open(path, 'r');
  try {
    let bytes = Buffer.alloc(0);
    while (bytes.length < MAX_HEADER_BYTES) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, bytes.length);
      if (bytesRead === 0) throw damaged(path, 'it ends within its header');
      bytes = Buffer.concat([bytes, buffer.subarray(0, bytesRead)]);
      const end = bytes.indexOf(END);
      if (end >= 0) return bytes.subarray(0, end);
    }
    throw damaged(path, 'its header is too long');
  } finally {
    await handle.close();
  }
}

function damaged(path: string, why: string): BatonError {
  return new BatonError(
    'recover_failed',
    `${path} is no whole bundle of git: ${why}. Is there another one? See --list`,
  );
}
