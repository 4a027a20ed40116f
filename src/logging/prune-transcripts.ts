import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { transcriptName } from './transcript.js';

export interface PruneOptions {
  /** How many are kept, the youngest. */
  readonly keep: number;
  /** Older ones go even when there are fewer. */
  readonly maxAgeMs?: number;
  /** Runs that are still being written. */
  readonly liveRunIds?: readonly string[];
}

export interface PruneResult {
  readonly removed: readonly string[];
  /** What could not be removed, and why. */
  readonly failed: readonly { readonly file: string; readonly message: string }[];
}

/** Removes old transcripts, by the time of their last line. Other files of the directory are left alone. */
export async function pruneTranscripts(dir: string, options: PruneOptions): Promise<PruneResult> {
  const live = new Set((options.liveRunIds ?? []).map(transcriptName));
  const removed: string[] = [];
  const failed: { file: string; message: string }[] = [];
  const old = (await transcriptsIn(dir)).filter(({ name }) => !live.has(name));
  const oldestMs = options.maxAgeMs === undefined ? Number.NEGATIVE_INFINITY : Date.now() - options.maxAgeMs;

  for (const [position, { name, changedAtMs }] of old.entries()) {
    if (position < options.keep && changedAtMs >= oldestMs) continue;
    try {
      await rm(join(dir, name), { force: true });
      removed.push(name);
    } catch (error) {
      failed.push({ file: name, message: (error as Error).message });
    }
  }
  return { removed, failed };
}

/** The youngest first. */
async function transcriptsIn(dir: string): Promise<{ readonly name: string; readonly changedAtMs: number }[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(orIfMissing([]));
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.jsonl'));
  const dated = await Promise.all(
    files.map(async ({ name }) => {
      const stats = await stat(join(dir, name)).catch(orIfMissing(null));
      return stats ? [{ name, changedAtMs: stats.mtimeMs }] : [];
    }),
  );
  return dated.flat().sort((a, b) => b.changedAtMs - a.changedAtMs || b.name.localeCompare(a.name));
}

function orIfMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return value;
    throw error;
  };
}
