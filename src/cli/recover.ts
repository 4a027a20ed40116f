import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { BatonError, toBatonError } from '../domain/errors.js';
import { nearestWord } from '../domain/nearest-word.js';
import { shellWord } from '../domain/shell-word.js';
import { defaultStateDir } from '../state-dir.js';
import { neutralise } from '../text/neutralise.js';
import { workflowKey } from '../workflow/workflow-key.js';
import { type Io, printProblem, shorter } from './io.js';
import { type RestoredRepository, restoreRepository } from './recover/restore-repository.js';
import { type RecoverableRepository, type SavedFolder, savedFolders } from './recover/saved-folders.js';
import { openTargetGit, UsageError } from './recover/target-git.js';
import { formatRestored, formatSaved } from './recover-view.js';

export interface RecoverOptions {
  /** Identifier or id. */
  readonly issue?: string | undefined;
  readonly workflowPath: string;
  /** Only list what was saved. */
  readonly list: boolean;
  /** The name of the saved work; default: the newest. */
  readonly saved?: string | undefined;
  /** The path of a repository in the workspace. */
  readonly repository?: string | undefined;
  /** The repository that gets the branches; default: the one of the current folder. */
  readonly into?: string | undefined;
  readonly stateDir?: string | undefined;
  /** How the user called Baton (`invocation`). */
  readonly command: string;
}

/** Restores the work of a removed workspace as branches, or lists what was saved. Only reads the files of the daemon. */
export async function recover(options: RecoverOptions, io: Io): Promise<number> {
  try {
    const saveDir = join(await stateDirOf(options, io), 'saved');
    const folders = await savedFolders(saveDir);
    if (options.list) return list(folders, options, saveDir, io);
    const saved = chooseFolder(folders, { issue: options.issue, saved: options.saved, saveDir });
    const repository = chooseRepository(saved, options.repository);
    const into = resolve(io.cwd, options.into ?? '.');
    const restored = await restoreInto(into, saved, repository, io);
    const git = into === io.cwd ? 'git' : `git -C ${shellWord(shorter(into, io.cwd))}`;
    io.stdout.write(formatRestored({ saved, repository, restored, git, again: commandOf(options, saved) }));
    return restored.unappliedPatch === null ? 0 : 1;
  } catch (error) {
    if (error instanceof UsageError) return printProblem(neutralise(error.message), 2, io);
    const { code, message } = toBatonError(error, 'recover_failed');
    return printProblem(neutralise(`${code}: ${message}`), code === 'recover_failed' ? 1 : 2, io);
  }
}

/** Does not load the workflow, which may be invalid by now: its path is enough to find the state. */
async function stateDirOf({ stateDir, workflowPath }: RecoverOptions, io: Io): Promise<string> {
  const path = resolve(io.cwd, workflowPath);
  const dir =
    stateDir === undefined ? defaultStateDir(await workflowKey(path), io.env, io.homeDir) : resolve(io.cwd, stateDir);
  if (await isFolder(dir)) return dir;
  if (stateDir !== undefined) throw new UsageError(`there is no state directory ${dir}`);
  const name = shorter(path, io.cwd);
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  const why = isThere ? `no daemon has run with ${name}: there is no ${dir}` : `there is no ${name}`;
  const text = `${why}. Name the workflow that the daemon was started with, or its --state-dir`;
  throw new BatonError(isThere ? 'recover_failed' : 'missing_workflow_file', text);
}

function list(folders: readonly SavedFolder[], { issue, command }: RecoverOptions, saveDir: string, io: Io): number {
  const shown = issue === undefined ? folders : ofIssue(folders, issue);
  if (shown.length === 0 && issue !== undefined) chooseFolder(folders, { issue, saved: undefined, saveDir });
  io.stdout.write(shown.length === 0 ? `Nothing is saved in ${neutralise(saveDir)}.\n` : formatSaved(shown, command));
  return 0;
}

async function restoreInto(
  into: string,
  saved: SavedFolder,
  repository: RecoverableRepository,
  io: Io,
): Promise<RestoredRepository> {
  if (!(await isFolder(into))) throw new UsageError(`${into} is no folder`);
  const scratch = await mkdtemp(join(tmpdir(), 'baton-recover-'));
  try {
    return await restoreRepository(saved, repository, await openTargetGit(into, scratch, io));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function commandOf({ command, stateDir, workflowPath, ...options }: RecoverOptions, { name }: SavedFolder): string {
  const { saved } = options;
  // Flags follow, so an identifier that looks like one is left out. The name of what was saved is enough.
  const issue = options.issue?.startsWith('-') ? undefined : options.issue;
  const words = [
    ...['recover', ...(issue === undefined ? [] : [issue]), ...(workflowPath === 'WORKFLOW.md' ? [] : [workflowPath])],
    ...(saved === undefined && issue !== undefined ? [] : ['--saved', name]),
    ...(stateDir === undefined ? [] : ['--state-dir', stateDir]),
  ];
  return [command, ...words.map(shellWord)].join(' ');
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

const NAMED = 5;

/** The saved work of an issue, newest first: by identifier, else by id; ignores case. */
export function ofIssue(folders: readonly SavedFolder[], wanted: string): SavedFolder[] {
  const isSame = (text: string) => text.toLowerCase() === wanted.toLowerCase();
  const named = folders.filter(({ issue }) => isSame(issue.identifier));
  return named.length > 0 ? named : folders.filter(({ issue }) => isSame(issue.id));
}

/** The folder to restore: the newest of the issue, or the named one. */
export function chooseFolder(
  folders: readonly SavedFolder[],
  {
    issue,
    saved,
    saveDir,
  }: { readonly issue: string | undefined; readonly saved: string | undefined; readonly saveDir: string },
): SavedFolder {
  const mine = issue === undefined ? folders : ofIssue(folders, issue);
  if (mine.length === 0) throw new BatonError('recover_failed', nothingSaved(folders, issue, saveDir));
  const chosen = saved === undefined ? mine[0] : mine.find(({ name }) => name === saved || name.endsWith(`@${saved}`));
  if (chosen !== undefined) return chosen;
  const names = mine.slice(0, NAMED).map(({ name }) => name);
  throw new BatonError('recover_failed', `nothing was saved as ${saved}; there are: ${names.join(', ')}`);
}

function nothingSaved(folders: readonly SavedFolder[], issue: string | undefined, saveDir: string): string {
  const nothing = issue === undefined ? 'nothing was saved' : `nothing was saved of ${issue}`;
  if (folders.length === 0) {
    return `${nothing}: ${saveDir} is empty. Pushed work is on its branch; saved work is removed after workspace.keep_days. Another workflow or --state-dir has its own folder`;
  }
  const identifiers = [...new Set(folders.map(({ issue: one }) => one.identifier))];
  const near = nearestWord(issue ?? '', identifiers);
  if (near !== null) return `${nothing}; did you mean ${near}?`;
  const more = identifiers.length > NAMED ? `, … (${identifiers.length})` : '';
  return `${nothing}; there is saved work of ${identifiers.slice(0, NAMED).join(', ')}${more}`;
}

/** The repository to restore: the named one, else the workspace itself, else the only one. */
export function chooseRepository(
  { repositories, name }: SavedFolder,
  wanted: string | undefined,
): RecoverableRepository {
  const paths = repositories.map(({ path }) => path || '.');
  if (wanted !== undefined) {
    const path = wanted.replace(/^\.\/+|\/+$/g, '');
    const found = repositories.find((one) => (one.path || '.') === path || one.path === wanted);
    if (found) return found;
    throw new BatonError('recover_failed', `${name} contains no repository ${wanted}; it contains ${paths.join(', ')}`);
  }
  const found = repositories.find(({ path }) => path === '') ?? repositories[0];
  if (found === undefined) throw new BatonError('recover_failed', `${name} is empty: there is nothing to restore`);
  if (found.path === '' || repositories.length === 1) return found;
  const text = `several repositories of the workspace were saved: ${paths.join(', ')}. Choose one with --repository, and with --into a clone of it`;
  throw new BatonError('recover_failed', text);
}
