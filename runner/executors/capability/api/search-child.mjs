// Searches or lists the working directory. It reads its order as JSON from stdin and prints the results as JSON. Links are not followed;
// large files, files with NUL bytes and everything that is not a regular file are skipped.
import { constants } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { posix } from 'node:path';
import { text } from 'node:stream/consumers';

const MAX_FILES = 20_000;
const MAX_RESULTS = 1_000;
const MAX_FILE_BYTES = 2 * 1024 * 1024;
const MAX_LINE_CHARACTERS = 500;
/** Of all results: the daemon reads at most 4 MiB and drops larger output as a whole. */
const MAX_BYTES = 4_000_000;
const SKIPPED = new Set(['.git', 'node_modules']);
const TYPES = { isFile: 'file', isDirectory: 'directory', isSymbolicLink: 'symlink' };

const order = JSON.parse(await text(process.stdin));
const { mode, pattern, only, prefix } = order;
const results = [];
let files = 0;
let bytes = 0;
let isFull = false;

try {
  const included = matcherOf(order.include);
  const excluded = matcherOf(order.exclude);
  const within = order.within === null ? null : new RegExp(order.within);
  const isIncluded = (path) =>
    (included === null || included(path)) && (within === null || within.test(posix.join(prefix, path)));
  const isExcluded = (path) => excluded?.(path) === true;
  if (mode === 'entries') print(await listEntries(isExcluded));
  else {
    const expression = mode === 'regex' ? new RegExp(pattern, order.ignoreCase ? 'i' : '') : null;
    const matches = (line) => (expression ? expression.test(line) : line.includes(pattern));
    for await (const path of only === null ? walk('', isExcluded) : [only]) {
      if (!isIncluded(path) || (only !== null && isExcluded(path))) continue;
      files += 1;
      isFull ||= files > MAX_FILES;
      if (isFull) break;
      const shown = posix.join(prefix, path);
      if (mode === 'list' || (mode === 'text' && shown.includes(pattern))) add({ path: shown, line: null, text: null });
      if (mode !== 'list') await search(path, shown, matches);
    }
    print({ results, truncated: isFull });
  }
} catch (error) {
  print({ error: error.message });
}

/** Patterns match a path from the searched folder or from the workspace. */
function matcherOf(sources) {
  if (sources.length === 0) return null;
  const expressions = sources.map((source) => new RegExp(source));
  return (path) => expressions.some((expression) => expression.test(path) || expression.test(posix.join(prefix, path)));
}

/** Adds a result, unless there are too many: then the search ends. */
function add(result) {
  bytes += Buffer.byteLength(JSON.stringify(result)) + 1;
  isFull ||= bytes > MAX_BYTES || results.length === (mode === 'regex' || mode === 'text' ? MAX_RESULTS : MAX_FILES);
  if (!isFull) results.push(result);
}

async function* walk(folder, isExcluded) {
  const entries = await readdir(`./${folder}`, { withFileTypes: true }).catch(() => []);
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = posix.join(folder, entry.name);
    if (isExcluded(path)) continue;
    const isWalked = order.recursive && !(order.defaultExcludes && SKIPPED.has(entry.name));
    if (entry.isDirectory() && isWalked) yield* walk(path, isExcluded);
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
    const isCut = line.length > MAX_LINE_CHARACTERS;
    add({ path: shown, line: number, text: line.slice(0, MAX_LINE_CHARACTERS), ...(isCut ? { isCut } : {}) });
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

/** The entries of one folder; `totalCount` counts those over the limit as well. */
async function listEntries(isExcluded) {
  const names = (await readdir('.')).filter((name) => (order.showHidden || !name.startsWith('.')) && !isExcluded(name));
  names.sort();
  const stats = { totalSize: 0, fileCount: 0, directoryCount: 0 };
  for (const name of names.slice(0, MAX_FILES)) {
    const found = await lstat(`./${name}`).catch(() => null);
    if (found === null) continue;
    const type = Object.entries(TYPES).find(([is]) => found[is]())?.[1] ?? 'other';
    stats.totalSize += type === 'file' ? found.size : 0;
    stats.fileCount += type === 'file' ? 1 : 0;
    stats.directoryCount += type === 'directory' ? 1 : 0;
    if (results.length >= order.limit) continue;
    const permissions = (found.mode & 0o7777).toString(8).padStart(4, '0');
    const details = { size: found.size, permissions, modifiedTime: found.mtime.toISOString() };
    const entry = { name, path: posix.join(prefix, name), type, isHidden: name.startsWith('.') };
    add(order.detailed ? { ...entry, ...details } : entry);
  }
  return { results, stats, totalCount: names.length, truncated: results.length < names.length };
}

function print(answer) {
  process.stdout.write(JSON.stringify(answer));
}
