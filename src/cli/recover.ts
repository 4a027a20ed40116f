import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import { createClock } from '../clock.js';
import { BatonError, toBatonError } from '../domain/errors.js';
import { nearestWord } from '../domain/nearest-word.js';
import { shellWord } from '../domain/shell-word.js';
import { defaultStateDir } from '../state-dir.js';
import { neutralise } from '../text/neutralise.js';
import { workflowKey } from '../workflow/workspace-root.js';
import { type Io, shorter } from './io.js';
import { type RestoredRepository, restoreRepository } from './recover/restore-repository.js';
import { type RecoverableRepository, type SavedFolder, savedFolders } from './recover/saved-folders.js';
import { openTargetGit, UsageError } from './recover/target-git.js';
import { formatRestored, formatSaved } from './recover-view.js';

export interface RecoverOptions {
  /** Identifier or id. */
  readonly issue?: string | undefined;
  readonly workflowPath: string;
  /** Show what there is, and do nothing. */
  readonly list: boolean;
  /** Another than the newest, by name. */
  readonly saved?: string | undefined;
  /** Which repository of the workspace, by its path there. */
  readonly repository?: string | undefined;
  /** The repository that gets the branches; the one of the current folder by default. */
  readonly into?: string | undefined;
  readonly stateDir?: string | undefined;
  /** How the person calls us (`invocation`). */
  readonly command: string;
}

/** Brings the work of a removed workspace back as branches, or lists what was saved. Only reads what the daemon wrote. */
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
    io.stdout.write(formatRestored({ saved, repository, restored, git, again: callOf(options, saved) }));
    return restored.unappliedPatch === null ? 0 : 1;
  } catch (error) {
    if (error instanceof UsageError) return complain(error.message, 2, io);
    const { code, message } = toBatonError(error, 'recover_failed');
    return complain(`${code}: ${message}`, code === 'recover_failed' ? 1 : 2, io);
  }
}

/** The workflow only says where its state is: one that does not load any more is no reason not to get work back. */
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
  const why = isThere ? `no daemon has worked with ${name}: there is no ${dir}` : `there is no ${name}`;
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
  const clock = createClock();
  const scratch = await mkdtemp(join(tmpdir(), 'baton-recover-'));
  try {
    const containment = await detectContainment({ isolation: 'none', hide: [], clock });
    return await restoreRepository(saved, repository, await openTargetGit(into, scratch, io, containment));
  } finally {
    clock.close();
    await rm(scratch, { recursive: true, force: true });
  }
}

function callOf({ command, issue, saved, stateDir, workflowPath }: RecoverOptions, { name }: SavedFolder): string {
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

function complain(text: string, code: number, io: Io): number {
  io.stderr.write(`baton: ${neutralise(text)}\n`);
  return code;
}

const NAMED = 5;

/** What was saved of an issue, newest first. By identifier, and where none fits by id; case does not matter. */
export function ofIssue(folders: readonly SavedFolder[], wanted: string): SavedFolder[] {
  const isSame = (text: string) => text.toLowerCase() === wanted.toLowerCase();
  const named = folders.filter(({ issue }) => isSame(issue.identifier));
  return named.length > 0 ? named : folders.filter(({ issue }) => isSame(issue.id));
}

/** The folder to bring back: the newest of the issue, or the one that was named. */
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
  throw new BatonError('recover_failed', `nothing was saved as ${saved}; there is: ${names.join(', ')}`);
}

function nothingSaved(folders: readonly SavedFolder[], issue: string | undefined, saveDir: string): string {
  const nothing = issue === undefined ? 'nothing was saved' : `nothing was saved of ${issue}`;
  if (folders.length === 0) {
    return `${nothing}: ${saveDir} is empty. Work that was pushed is on its branch; saved work goes after workspace.keep_days. Another workflow or --state-dir has a folder of its own`;
  }
  const identifiers = [...new Set(folders.map(({ issue: one }) => one.identifier))];
  const near = nearestWord(issue ?? '', identifiers);
  if (near !== null) return `${nothing}; did you mean ${near}?`;
  const more = identifiers.length > NAMED ? `, … (${identifiers.length})` : '';
  return `${nothing}; there is saved work of ${identifiers.slice(0, NAMED).join(', ')}${more}`;
}

/** The repository of a workspace to bring back: the one that was named, else the workspace itself, else the only one. */
export function chooseRepository(
  { repositories, name }: SavedFolder,
  wanted: string | undefined,
): RecoverableRepository {
  const paths = repositories.map(({ path }) => path || '.');
  if (wanted !== undefined) {
    const path = wanted.replace(/^\.\/+|\/+$/g, '');
    const found = repositories.find((one) => (one.path || '.') === path || one.path === wanted);
    if (found) return found;
    throw new BatonError('recover_failed', `${name} holds no repository ${wanted}; it holds ${paths.join(', ')}`);
  }
  const found = repositories.find(({ path }) => path === '') ?? repositories[0];
  if (found === undefined) throw new BatonError('recover_failed', `${name} is empty: there is nothing to bring back`);
  if (found.path === '' || repositories.length === 1) return found;
  const text = `several repositories of the workspace were saved: ${paths.join(', ')}. Choose one with --repository, and with --into a clone of it`;
  throw new BatonError('recover_failed', text);
}
