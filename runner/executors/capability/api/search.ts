import { stat } from 'node:fs/promises';
import { basename, dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TimeLimit } from '../../../../src/domain/clock.js';
import { globSource } from '../../../../src/domain/glob.js';
import { fieldsOf, type JsonObject, listOf } from '../../../../src/domain/json.js';
import { captureOutput } from '../../../contain/capture-output.js';
import type { ContainedProcess } from '../../../contain/process.js';
import { type ApiSession, badRequest } from './api.js';
import { realInside } from './workspace-files.js';

const PROGRAM = fileURLToPath(new URL('search-child.mjs', import.meta.url));
const LIMIT_MS = 20_000;
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
const MAX_PATTERN_CHARACTERS = 2_000;
const MAX_GLOBS = 200;
const DEFAULT_ENTRIES = 1_000;

export interface SearchOrder {
  /** `entries`: the entries of one folder, not those below. The other modes look at files. */
  readonly mode: 'list' | 'text' | 'regex' | 'entries';
  readonly path: string;
  readonly pattern?: string;
  readonly ignoreCase?: boolean;
  /** Globs. Absent or empty: all files, and none. */
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  /** A glob from the workspace that every file must match exactly. */
  readonly within?: string | null;
  /** Also in folders below; true by default. */
  readonly recursive?: boolean;
  /** Leaves out .git and node_modules below the folder; true by default. */
  readonly defaultExcludes?: boolean;
  /** For `entries`. */
  readonly showHidden?: boolean;
  readonly detailed?: boolean;
  readonly limit?: number;
}

export interface SearchResults {
  readonly results: readonly Match[];
  /** More matches exist. */
  readonly truncated: boolean;
  /** For `entries`. */
  readonly totalCount: number;
  readonly stats: JsonObject;
}

/** `path` is relative to the workspace. A match in the name of a file has no line, and entries of folders have other members. */
interface Match {
  readonly path: string;
  readonly line: number | null;
  readonly text: string | null;
  /** The line is longer than its text. */
  readonly isCut?: boolean;
}

/** Groups matches by file. A file of which only the name matches has no matches. Pure. */
export function groupByFile(matches: readonly Match[]): JsonObject[] {
  const files = new Map<string, JsonObject[]>();
  for (const { path, line, text, isCut } of matches) {
    const lines = files.get(path) ?? [];
    files.set(path, lines);
    const mark = isCut ? { truncated: true } : {};
    if (line !== null) lines.push({ line, lineNumber: line, content: text ?? '', ...mark });
  }
  return [...files].map(([path, lines]) => ({ path, matches: lines }));
}

/**
 * Searches the workspace in a contained process, which is killed after `LIMIT_MS`: a pattern that backtracks for ever must not block the
 * daemon. The process sees what the executor sees. The searches of an execution run one after the other. Throws.
 */
export function searchWorkspace(order: SearchOrder, session: ApiSession): Promise<SearchResults> {
  const { searches } = session;
  const results = searches.last.then(() => search(order, session));
  searches.last = results.catch(() => {});
  return results;
}

async function search(order: SearchOrder, session: ApiSession): Promise<SearchResults> {
  const { context, signal } = session;
  if (signal.aborted) throw badRequest('the execution is over');
  const { mode, pattern = '', include = [], exclude = [], within = null } = order;
  if ([pattern, within ?? '', ...include, ...exclude].some((text) => text.length > MAX_PATTERN_CHARACTERS)) {
    throw badRequest(`a pattern may have at most ${MAX_PATTERN_CHARACTERS} characters`);
  }
  if (include.length + exclude.length > MAX_GLOBS) throw badRequest(`a call may have at most ${MAX_GLOBS} globs`);
  const real = await realInside(context.workspace, order.path);
  const isFolder = (await stat(real)).isDirectory();
  if (mode === 'entries' && !isFolder) throw badRequest(`${order.path} is not a folder`);
  const cwd = isFolder ? real : dirname(real);
  const task = {
    mode,
    pattern,
    ignoreCase: order.ignoreCase ?? false,
    include: include.map((glob) => globSource(glob)),
    exclude: exclude.map((glob) => globSource(glob)),
    within: within === null ? null : globSource(within, true),
    recursive: order.recursive ?? true,
    defaultExcludes: order.defaultExcludes ?? true,
    showHidden: order.showHidden ?? false,
    detailed: order.detailed ?? false,
    limit: order.limit ?? DEFAULT_ENTRIES,
    only: isFolder ? null : basename(real),
    prefix: relative(context.workspace, cwd),
  };
  const { env } = context.environment({});
  const file = process.execPath;
  const child = await context.start({ file, args: [PROGRAM], env, cwd, stdin: 'pipe', channel: false });
  try {
    child.stdin?.end(JSON.stringify(task));
    return resultsOf(await outputOf(child, context.clock, signal));
  } finally {
    await child.stop({ eofMs: 0, termMs: 0 });
  }
}

async function outputOf(
  child: ContainedProcess,
  clock: ApiSession['context']['clock'],
  signal: AbortSignal,
): Promise<string> {
  const limit = new TimeLimit(clock, LIMIT_MS);
  const stopWaiting = () => limit.end();
  signal.addEventListener('abort', stopWaiting, { once: true });
  if (signal.aborted) stopWaiting();
  const output = captureOutput(child, { maxBytes: MAX_OUTPUT_BYTES, clock, drainMs: 1_000 });
  const captured = await limit.race(output);
  limit.end();
  signal.removeEventListener('abort', stopWaiting);
  if (captured === undefined) throw badRequest('the search took too long; use a simpler pattern or a smaller folder');
  if (captured.status.code !== 0 || captured.truncated) throw badRequest('the search failed');
  return captured.stdout;
}

function resultsOf(output: string): SearchResults {
  const { error, results, truncated, totalCount, stats } = fieldsOf(JSON.parse(output));
  if (typeof error === 'string') throw badRequest(error);
  return {
    results: listOf(results) as readonly Match[],
    truncated: truncated === true,
    totalCount: typeof totalCount === 'number' ? totalCount : listOf(results).length,
    stats: fieldsOf(stats) as JsonObject,
  };
}
