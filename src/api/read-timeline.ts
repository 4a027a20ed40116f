import { open } from 'node:fs/promises';
import { fieldsOf } from '../domain/json.js';
import type { PlanStep, Timeline, TimelineEntry } from './schemas.js';
import { diffOf, planOf, type TranscriptLine, timelineEntry } from './timeline.js';

/** Only the end of a transcript is read: reading 50 MB would block the daemon. */
const MAX_BYTES = 2_000_000;
const MAX_ENTRIES = 2_000;
/** Other work runs after each batch of lines. */
const LINES_PER_BATCH = 500;

/** The timeline of a run from its transcript; `null` when there is none. The caller knows whether the run is live. */
export async function readTimeline(path: string, runId: string): Promise<Timeline | null> {
  const tail = await readTail(path);
  if (tail === null) return null;
  const entries: TimelineEntry[] = [];
  let plan: readonly PlanStep[] = [];
  let diff: string | null = null;
  const lines = tail.text.split('\n');
  for (const [at, text] of lines.entries()) {
    if (at % LINES_PER_BATCH === LINES_PER_BATCH - 1) await new Promise(setImmediate);
    const line = lineOf(text);
    if (line === null) continue;
    const entry = timelineEntry(line);
    if (entry !== null) entries.push(entry);
    plan = planOf(line) ?? plan;
    diff = diffOf(line) ?? diff;
  }
  return {
    run_id: runId,
    live: false,
    truncated: tail.isCut || entries.length > MAX_ENTRIES,
    entries: entries.slice(-MAX_ENTRIES),
    plan: [...plan],
    diff,
  };
}

async function readTail(path: string): Promise<{ readonly text: string; readonly isCut: boolean } | null> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (file === null) return null;
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - MAX_BYTES);
    const bytes = Buffer.alloc(size - from);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, from);
    const text = bytes.toString('utf8', 0, bytesRead);
    // The text before the first line break is part of a line.
    return from === 0 ? { text, isCut: false } : { text: text.slice(text.indexOf('\n') + 1), isCut: true };
  } finally {
    await file.close();
  }
}

/** Returns null for a torn or empty line. */
function lineOf(text: string): TranscriptLine | null {
  if (text.trim() === '') return null;
  try {
    const { time, kind, data } = fieldsOf(JSON.parse(text));
    return typeof time === 'string' && typeof kind === 'string' ? { time, kind, data } : null;
  } catch {
    return null;
  }
}
