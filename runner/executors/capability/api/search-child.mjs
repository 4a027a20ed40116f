// Searches the working directory. It reads its order as JSON from stdin and prints the results as JSON. Links are not followed; large
// files, files with NUL bytes and everything that is not a regular file are skipped.
import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { posix } from 'node:path';
import { text } from 'node:stream/consumers';

const MAX_FILES = 20_000;
const MAX_RESULTS = 1_000;
const MAX_FILE_BYTES = 2 * 1024 * 1024;
const MAX_LINE_CHARACTERS = 500;
/** Of all results: the daemon reads at most 4 MiB and drops larger output as a whole. */
const MAX_BYTES = 4_000_000;
const SKIPPED = new Set(['.git', 'node_modules']);

const { mode, pattern, only, prefix } = JSON.parse(await text(process.stdin));
const results = [];
let files = 0;
let bytes = 0;
let isFull = false;

try {
  const matcher = mode === 'regex' ? new RegExp(pattern) : null;
  const matches = (line) => (matcher ? matcher.test(line) : line.includes(pattern));
  for await (const path of only === null ? walk('') : [only]) {
    files += 1;
    isFull ||= files > MAX_FILES;
    if (isFull) break;
    const shown = posix.join(prefix, path);
    if (mode === 'list' || (mode === 'text' && shown.includes(pattern))) add(shown, null, null);
    if (mode !== 'list') await search(path, shown, matches);
  }
  print({ results, truncated: isFull });
} catch (error) {
  print({ error: error.message });
}

/** Adds a result, unless there are too many: then the search ends. */
function add(path, line, text) {
  const result = { path, line, text };
  bytes += Buffer.byteLength(JSON.stringify(result)) + 1;
  isFull ||= bytes > MAX_BYTES || results.length === (mode === 'list' ? MAX_FILES : MAX_RESULTS);
  if (!isFull) results.push(result);
}

async function* walk(folder) {
  const entries = await readdir(`./${folder}`, { withFileTypes: true }).catch(() => []);
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory() && !SKIPPED.has(entry.name)) yield* walk(path);
    else if (entry.isFile()) yield path;
  }
}

async function search(path, shown, matches) {
  const content = await read(path);
  if (content === null || content.includes('\0')) return;
  let number = 0;
  for (const line of content.split('\n')) {
    number += 1;
    if (!matches(line)) continue;
    add(shown, number, line.slice(0, MAX_LINE_CHARACTERS));
    if (isFull) return;
  }
}

async function read(path) {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(`./${path}`, flags).catch(() => null);
  try {
    const stats = await file?.stat();
    return stats?.isFile() && stats.size <= MAX_FILE_BYTES ? await file.readFile('utf8') : null;
  } catch {
    return null;
  } finally {
    await file?.close();
  }
}

function print(answer) {
  process.stdout.write(JSON.stringify(answer));
}
