import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Json, listOf } from '../../../../src/domain/json.js';
import { readUpTo } from '../definition-file.js';
import { type ApiAction, type ApiModule, type ApiRequest, badRequest, optionalText, requiredText } from './api.js';
import { searchWorkspace } from './search.js';
import { inParent, openToRead, openToWrite, removeTree } from './workspace-files.js';

const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_FILES = 100;
const MAX_FILES_BYTES = 8 * 1024 * 1024;

const readFile: ApiAction = async (request, { context }) => ({
  content: await readText(context.workspace, pathOf(request)),
});

const readManyFiles: ApiAction = async ({ fields }, { context }) => {
  const paths = listOf(fields.paths ?? fields.filePaths).filter((path) => typeof path === 'string');
  if (paths.length === 0 || paths.length > MAX_FILES)
    throw badRequest(`paths must be a list of 1 to ${MAX_FILES} files`);
  const files: Json[] = [];
  let total = 0;
  for (const path of paths) {
    const file = await readText(context.workspace, path).then(
      (content) => ({ path, success: true, content }),
      (error: Error) => ({ path, success: false, error: error.message, content: '' }),
    );
    total += Buffer.byteLength(file.content);
    if (total > MAX_FILES_BYTES) throw badRequest(`the files together are larger than ${MAX_FILES_BYTES} bytes`);
    files.push(file);
  }
  return { files };
};

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

/** Searches contents and names for plain text. Older clients send `regex`, which is a pattern. */
const searchFiles: ApiAction = async ({ fields }, session) => {
  const path = optionalText(fields, 'path', 'folderPath') ?? '.';
  const regex = optionalText(fields, 'regex');
  const pattern = regex ?? requiredText({ fields, text: null }, 'query', 'pattern');
  const { results, truncated } = await searchWorkspace({ mode: regex ? 'regex' : 'text', pattern, path }, session);
  return { results: results.map((match) => ({ ...match })), truncated };
};

const grepSearch: ApiAction = async (request, session) => {
  const pattern = requiredText(request, 'pattern', 'query', 'regex');
  const path = optionalText(request.fields, 'path', 'folderPath') ?? '.';
  const { results, truncated } = await searchWorkspace({ mode: 'regex', pattern, path }, session);
  return { results: results.map((match) => ({ ...match })), truncated };
};

async function readText(workspace: string, path: string): Promise<string> {
  const file = await openToRead(workspace, path);
  try {
    return await readUpTo(file, MAX_FILE_BYTES);
  } catch (error) {
    throw badRequest(`${path} ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await file.close();
  }
}

/** The path of a request. Older clients send folder and file name separately. */
function pathOf(request: ApiRequest): string {
  const { fields } = request;
  const name = optionalText(fields, 'fileName', 'filename', 'folderName', 'foldername');
  const folder = optionalText(fields, 'filePath', 'relPath', 'path', 'folderPath', 'folderpath');
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
    deleteFolder,
    searchFiles,
    grepSearch,
  },
  // The names that the client of existing packages uses.
  aliases: { read_many_files: 'readManyFiles', grep_search: 'grepSearch', writeToFile: 'createFile' },
};
