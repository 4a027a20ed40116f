import { stat, unlink } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { folderOfGlob, isGlob, splitGlobs } from '../../../../src/domain/glob.js';
import type { JsonObject } from '../../../../src/domain/json.js';
import { readUpTo } from '../definition-file.js';
import {
  type ApiAction,
  type ApiModule,
  type ApiRequest,
  type ApiSession,
  badRequest,
  optionalText,
  requiredText,
} from './api.js';
import { groupByFile, type SearchOrder, type SearchResults, searchWorkspace } from './search.js';
import { inParent, makeFolder, openToRead, openToWrite, realInside, removeTree } from './workspace-files.js';

const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_FILES = 100;
const MAX_FILES_BYTES = 8 * 1024 * 1024;

const readFile: ApiAction = async (request, { context }) => {
  const path = pathOf(request);
  return { path, content: (await readText(context.workspace, path)).content };
};

/** Files by name, all files of folders, and globs. `include` and `exclude` filter the files of folders and globs. */
const readManyFiles: ApiAction = async ({ fields }, session) => {
  const written = textsOf(fields.paths ?? fields.filePaths, 'paths');
  if (written.length === 0 || written.length > MAX_FILES)
    throw badRequest(`paths must be a list of 1 to ${MAX_FILES} files, folders or globs`);
  const maxFiles = Math.min(numberOf(fields.max_files, 'max_files') ?? MAX_FILES, MAX_FILES);
  const maxBytes = Math.min(numberOf(fields.max_total_size, 'max_total_size') ?? MAX_FILES_BYTES, MAX_FILES_BYTES);
  const { paths, isWhole } = await filesOf(written, fields, session);
  const results: JsonObject[] = [];
  let total = 0;
  for (const path of paths.slice(0, maxFiles)) {
    const file = await readText(session.context.workspace, path).catch((error: Error) => error.message);
    const bytes = typeof file === 'string' ? 0 : Buffer.byteLength(file.content);
    if (typeof file === 'string') results.push({ path, error: file });
    else if (total + bytes > maxBytes) {
      results.push({ path, error: `not read, because the files together are larger than ${maxBytes} bytes` });
    } else {
      total += bytes;
      results.push({ path, ...(fields.include_metadata === true ? file : { content: file.content }) });
    }
  }
  const successful = results.filter(({ error }) => error === undefined).length;
  const summary = { total: results.length, successful, failed: results.length - successful };
  const truncated = !isWhole || paths.length > maxFiles;
  const message = truncated ? { message: `more than ${maxFiles} files match; the others were not read` } : {};
  return { results, summary, truncated, ...message };
};

async function filesOf(
  written: readonly string[],
  fields: ApiRequest['fields'],
  session: ApiSession,
): Promise<{ readonly paths: readonly string[]; readonly isWhole: boolean }> {
  const include = textsOf(fields.include, 'include');
  const exclude = textsOf(fields.exclude, 'exclude');
  const recursive = fields.recursive !== false;
  const defaultExcludes = fields.use_default_excludes !== false;
  const filters = { mode: 'list', include, exclude, defaultExcludes } as const;
  const paths = new Set<string>();
  let isWhole = true;
  for (const path of written) {
    const kind = await kindOf(path, session.context.workspace);
    if (kind === 'file') {
      paths.add(path);
      continue;
    }
    const glob = relative(session.context.workspace, resolve(session.context.workspace, path));
    const order =
      kind === 'folder'
        ? { ...filters, path, recursive }
        : { ...filters, path: folderOfGlob(path), within: glob, recursive: true };
    const found = await searchWorkspace(order, session);
    for (const file of found.results) paths.add(file.path);
    isWhole &&= !found.truncated;
  }
  return { paths: [...paths], isWhole };
}

/** A path that does not exist, or leads out, is taken for a file: reading it gives the reason. */
async function kindOf(path: string, workspace: string): Promise<'file' | 'folder' | 'glob'> {
  try {
    return (await stat(await realInside(workspace, path))).isDirectory() ? 'folder' : 'file';
  } catch {
    return isGlob(path) ? 'glob' : 'file';
  }
}

const write =
  (create: boolean): ApiAction =>
  async (request, { context }) => {
    const content = request.fields.source ?? request.fields.newContent ?? request.fields.content ?? '';
    if (typeof content !== 'string') throw badRequest('the content of a file must be text');
    const path = pathOf(request);
    const file = await openToWrite(context.workspace, path, create);
    try {
      await file.truncate(0);
      await file.writeFile(content);
    } finally {
      await file.close();
    }
    return { path };
  };

const deleteFile: ApiAction = async (request, { context }) => {
  const path = pathOf(request);
  await inParent(context.workspace, path, false, (target) => unlink(target));
  return { path };
};

const deleteFolder: ApiAction = async (request, { context, signal }) => {
  const path = pathOf(request);
  await inParent(context.workspace, path, false, (folder) => removeTree(folder, signal));
  return { path };
};

/** Searches contents and names for plain text. The published SDK sends `regex`, which is a pattern. */
const searchFiles: ApiAction = async ({ fields }, session) => {
  const path = optionalText(fields, 'path', 'folderPath') ?? '.';
  const regex = optionalText(fields, 'regex');
  const pattern = regex ?? requiredText({ fields, text: null }, 'query', 'pattern');
  const include = textsOf(fields.filePattern, 'filePattern');
  const found = await searchWorkspace({ mode: regex ? 'regex' : 'text', pattern, path, include }, session);
  return { query: pattern, ...searchAnswer(path, found) };
};

const grepSearch: ApiAction = async (request, session) => {
  const { fields } = request;
  const pattern = requiredText(request, 'pattern', 'query', 'regex');
  const path = optionalText(fields, 'path', 'folderPath') ?? '.';
  const include = textsOf(fields.includePattern, 'includePattern');
  const exclude = textsOf(fields.excludePattern, 'excludePattern');
  const ignoreCase = fields.caseSensitive === false;
  const found = await searchWorkspace({ mode: 'regex', pattern, path, include, exclude, ignoreCase }, session);
  return { pattern, ...searchAnswer(path, found) };
};

function searchAnswer(path: string, { results, truncated }: SearchResults): JsonObject {
  const files = groupByFile(results);
  return { path, results: files, totalCount: results.length, hasMore: truncated, truncated };
}

const createFolder: ApiAction = async (request, { context }) => {
  const path = pathOf(request);
  const created = await inParent(context.workspace, path, true, (folder) => makeFolder(folder, path));
  return { path, created };
};

const listDirectory: ApiAction = async ({ fields }, session) => {
  const path = optionalText(fields, 'path', 'folderPath') ?? '.';
  const limit = numberOf(fields.limit, 'limit');
  const order: SearchOrder = {
    mode: 'entries',
    path,
    exclude: textsOf(fields.ignore, 'ignore'),
    showHidden: fields.show_hidden === true,
    detailed: fields.detailed === true,
    ...(limit === null ? {} : { limit }),
  };
  const { results, truncated, totalCount, stats } = await searchWorkspace(order, session);
  return { path, entries: results.map((entry) => ({ ...entry })), totalCount, hasMore: truncated, stats };
};

const listFiles: ApiAction = async ({ fields }, session) => {
  const path = optionalText(fields, 'folderPath', 'path') ?? '.';
  const recursive = fields.isRecursive === true;
  const { results, truncated } = await searchWorkspace({ mode: 'list', path, recursive }, session);
  const files = results.map((file) => file.path);
  return { path, files, totalCount: files.length, hasMore: truncated, recursive };
};

/** Text with globs between commas, or a list of texts. Throws. */
function textsOf(value: unknown, name: string): string[] {
  if (value === undefined || value === null) return [];
  if (typeof value === 'string') return splitGlobs(value);
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value as string[];
  throw badRequest(`${name} must be a list of texts`);
}

/** Throws. */
function numberOf(value: unknown, name: string): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value > 0) return value;
  throw badRequest(`${name} must be a whole number above 0`);
}

interface TextFile {
  readonly content: string;
  readonly stats: JsonObject;
}

async function readText(workspace: string, path: string): Promise<TextFile & JsonObject> {
  const file = await openToRead(workspace, path);
  try {
    const { size, mtime } = await file.stat();
    return { content: await readUpTo(file, MAX_FILE_BYTES), stats: { size, modifiedTime: mtime.toISOString() } };
  } catch (error) {
    throw badRequest(`${path} ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await file.close();
  }
}

const NAMES = ['fileName', 'filename', 'folderName', 'foldername'] as const;
const FOLDERS = ['filePath', 'relPath', 'path', 'folderPath', 'folderpath'] as const;
const PATHS = [...NAMES, ...FOLDERS];

/** The path of a request. Older clients send folder and file name separately. */
function pathOf(request: ApiRequest): string {
  const { fields } = request;
  const name = optionalText(fields, ...NAMES);
  const folder = optionalText(fields, ...FOLDERS);
  if (name !== null && folder !== null) return join(folder, name);
  return name ?? folder ?? requiredText(request, 'filePath');
}

export const FS_API: ApiModule = {
  module: 'fs',
  types: ['fsEvent'],
  actions: {
    readFile,
    readManyFiles,
    createFile: write(true),
    updateFile: write(false),
    deleteFile,
    createFolder,
    deleteFolder,
    listDirectory,
    fileList: listFiles,
    searchFiles,
    grepSearch,
  },
  // The names that the client of existing packages uses.
  aliases: {
    read_many_files: 'readManyFiles',
    grep_search: 'grepSearch',
    list_directory: 'listDirectory',
    listFile: 'fileList',
    writeToFile: 'createFile',
  },
  takes: {
    readFile: PATHS,
    readManyFiles: [
      ...['paths', 'filePaths', 'include', 'exclude', 'recursive', 'use_default_excludes'],
      ...['max_files', 'max_total_size', 'include_metadata'],
    ],
    createFile: [...PATHS, 'source', 'newContent', 'content'],
    updateFile: [...PATHS, 'source', 'newContent', 'content'],
    deleteFile: PATHS,
    createFolder: PATHS,
    deleteFolder: PATHS,
    listDirectory: ['path', 'folderPath', 'ignore', 'show_hidden', 'detailed', 'limit'],
    fileList: ['path', 'folderPath', 'isRecursive'],
    searchFiles: ['path', 'folderPath', 'regex', 'query', 'pattern', 'filePattern'],
    grepSearch: [
      ...['path', 'folderPath', 'pattern', 'query', 'regex', 'includePattern', 'excludePattern'],
      'caseSensitive',
    ],
  },
};
