import { existsSync } from 'node:fs';
import { chmod, lstat, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../../src/domain/clock.js';
import { BatonError } from '../../src/domain/errors.js';
import type { Issue } from '../../src/domain/issue.js';
import { lastWord } from '../../src/domain/shell-word.js';
import type { Workflow } from '../../src/domain/workflow.js';
import { captureOutput } from '../contain/capture-output.js';
import { pinServiceFolders } from '../contain/hidden-directories.js';
import type { Containment } from '../contain/process.js';
import { spawnContained } from '../contain/spawn-contained.js';
import { environmentFor } from '../environment.js';
import type { SaveCall, SaveLimits, SaveResult } from '../git/save-repository.js';
import type { RunObserver } from '../run-observer.js';
import { keepSaved, pruneSaved, type RepositoryFiles, removePartials, savedName } from './saved-work.js';
import type { Workspace } from './workspace-folder.js';
import { distinctName } from './workspace-path.js';
import type { Workspaces } from './workspaces.js';

const MAX_OUTPUT_BYTES = 16 * 1024;
const DRAIN_MS = 1_000;
const TIME_LIMIT_MS = 300_000;

interface SaveServices {
  readonly saveDir: string;
  readonly clock: Clock;
  readonly containment: Containment;
  readonly baseEnv: { readonly [name: string]: string | undefined };
  readonly observer: Pick<RunObserver, 'warned'>;
  readonly workspaces: Pick<Workspaces, 'ownFolder'>;
}

/** Creates a `saveWork` that runs git in contained processes, because the git settings of a workspace are as untrusted as its agent. */
export function createWorkSaver(deps: SaveServices) {
  // Before the first save of this daemon, half-saved folders belong to a dead daemon. Their workspaces are saved again.
  let cleaned: Promise<void> | null = null;
  return async (
    workspace: Workspace,
    issue: Issue,
    workflow: Workflow,
    tmpDir: string,
    marker: string,
  ): Promise<void> => {
    cleaned ??= removePartials(deps.saveDir).catch(({ message }: Error) =>
      deps.observer.warned(null, 'half-saved work of an earlier daemon could not be removed', { detail: message }),
    );
    await cleaned;
    const nowMs = deps.clock.now().wallMs;
    const run = scriptRunner(workspace, workflow, tmpDir, marker, deps);
    const { saveDir } = deps;
    const { folder, notices } = await saveWork({ issue, workspace, scratchDir: tmpDir, saveDir, nowMs, run });
    const about = { issue_id: issue.id, issue_identifier: issue.identifier };
    if (folder !== null) {
      const detail = `baton recover ${lastWord(issue.identifier)} brings it back`;
      deps.observer.warned(null, 'unpushed work was saved before the workspace is removed', {
        ...about,
        folder,
        detail,
      });
    }
    for (const notice of notices) deps.observer.warned(null, 'not everything was saved', { ...about, detail: notice });
    await pruneSaved(saveDir, workflow.config.workspace.keepDays, nowMs);
  };
}

function scriptRunner(
  workspace: Workspace,
  workflow: Workflow,
  tmpDir: string,
  marker: string,
  deps: SaveServices,
): RunScript {
  const { clock, containment, baseEnv, workspaces } = deps;
  return async (script, variables) => {
    const { env, unset } = environmentFor('agent', {
      base: baseEnv,
      policy: 'allowlist',
      allow: [],
      hookAllow: [],
      secretNames: workflow.secretNames,
      extra: { ...variables, TMPDIR: tmpDir },
    });
    const { path: cwd, identity } = workspace;
    const hide = [await workspaces.ownFolder(), ...(await pinServiceFolders(baseEnv, []))];
    const command = { marker, script, cwd, identity, env, unset, hide, stdin: 'ignore' } as const;
    const process = await spawnContained(command, containment);
    const cancel = clock.after(TIME_LIMIT_MS, () => void process.stop());
    try {
      const { stderr, status } = await captureOutput(process, { maxBytes: MAX_OUTPUT_BYTES, clock, drainMs: DRAIN_MS });
      return { code: status.code, stderr };
    } finally {
      cancel();
      await process.stop();
    }
  };
}

/** Runs a bash script contained, with the environment of agents (without secrets) and these variables. */
export type RunScript = (
  script: string,
  variables: { readonly [name: string]: string },
) => Promise<{ readonly code: number | null; readonly stderr: string }>;

export interface SaveRequest {
  readonly issue: Pick<Issue, 'id' | 'identifier' | 'title'>;
  readonly workspace: { readonly key: string; readonly path: string };
  /** The run's temporary folder. The contained script can write here; the state directory is hidden from it. */
  readonly scratchDir: string;
  /** The folder of saved work in the state directory. */
  readonly saveDir: string;
  readonly nowMs: number;
  readonly run: RunScript;
  readonly limits?: SaveLimits;
}

interface SavedWork {
  /** The folder with the saved work; null when there was nothing to save. */
  readonly folder: string | null;
  /** For users: what was left out. */
  readonly notices: readonly string[];
}

const LIMITS: SaveLimits = { maxNewFileBytes: 20_000_000, maxTotalBytes: 500_000_000 };
/** No file may grow larger, not even a temporary one of git. */
const SCRIPT = 'ulimit -f "$BATON_SAVE_MAX_KB"; exec "$BATON_NODE" "$BATON_SAVE_PROGRAM" save';
/** The second place is for daemons that run from their sources. */
const PLACES = ['../git/program.js', '../../dist/runner/git/program.js'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);
const PROGRAM = PLACES.find(existsSync) ?? '';

/**
 * Saves unpushed commits (as a bundle) and uncommitted changes (as a patch against HEAD) of every git repository in a workspace
 * that is about to be deleted. Throws `workspace_failed` when it cannot; then the workspace must stay.
 */
export async function saveWork(request: SaveRequest): Promise<SavedWork> {
  const { issue, workspace, scratchDir, saveDir, nowMs } = request;
  try {
    const { repositories, isComplete } = await findRepositories(workspace.path);
    const notices = isComplete
      ? []
      : ['the workspace has too many or too deep folders: git repositories there were not searched'];
    const scratch = await mkdtemp(join(scratchDir, 'save-'));
    try {
      const found: RepositoryFiles[] = [];
      const call = { workspace: workspace.path, repositories, limits: request.limits ?? LIMITS };
      const results = repositories.length === 0 ? [] : await callProgram(call, scratch, request.run);
      for (const [index, { head, branch, tooLarge }] of results.entries()) {
        const repository = repositories[index] ?? '';
        const facts = factsOf(relative(workspace.path, repository));
        found.push({ ...facts, head, branch, folder: join(scratch, String(index)) });
        const { maxNewFileBytes } = call.limits;
        for (const path of tooLarge)
          notices.push(`${join(repository, path)} is over ${maxNewFileBytes} bytes and was not saved`);
      }
      const { id, identifier, title } = issue;
      const about = {
        version: 1,
        issue: { id, identifier, title },
        workspace_key: workspace.key,
        saved_at: new Date(nowMs).toISOString(),
        left_out: notices,
      } as const;
      return { folder: await keepSaved(found, about, saveDir, savedName(workspace.key, nowMs)), notices };
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BatonError(
      'workspace_failed',
      `the work in ${workspace.path} could not be saved, so the workspace is kept: ${reason}`,
      {},
      { cause: error },
    );
  }
}

function factsOf(path: string): Pick<RepositoryFiles, 'path' | 'prefix'> {
  return { path, prefix: path === '' ? '' : `${distinctName(path)}.` };
}

async function callProgram(call: SaveCall, folder: string, run: RunScript): Promise<SaveResult[]> {
  await writeFile(join(folder, 'request.json'), JSON.stringify(call));
  const { code, stderr } = await run(SCRIPT, {
    BATON_SAVE_FOLDER: folder,
    BATON_SAVE_PROGRAM: PROGRAM,
    BATON_NODE: process.execPath,
    BATON_SAVE_MAX_KB: String(Math.ceil(call.limits.maxTotalBytes / 1024)),
  });
  if (code !== 0)
    throw new Error(
      stderr
        .trimEnd()
        .slice(-1000)
        .replace(/^baton: /, ''),
    );
  return JSON.parse(await readFile(join(folder, 'result.json'), 'utf8')) as SaveResult[];
}

const MAX_DEPTH = 12;
const MAX_FOLDERS = 20_000;
const SKIPPED = new Set(['.git', 'node_modules']);

interface RepositorySearch {
  readonly repositories: readonly string[];
  /** False when there were too many or too deep folders to search all of them. */
  readonly isComplete: boolean;
}

/** Finds the git repositories in a workspace: itself, clones and submodules. Symlinks are not followed. */
export async function findRepositories(workspace: string): Promise<RepositorySearch> {
  const repositories: string[] = [];
  // Names are read as bytes: a name that is not valid text must not keep its workspace from being removed.
  let level: Buffer[] = [Buffer.from(workspace)];
  let searched = 0;
  for (let depth = 0; depth <= MAX_DEPTH; depth += 1) {
    const next: Buffer[] = [];
    for (const folder of level) {
      searched += 1;
      if (searched > MAX_FOLDERS) return { repositories, isComplete: false };
      await makeReadable(folder);
      if (await isRepository(folder)) repositories.push(asText(folder));
      next.push(...(await subfolders(folder)));
    }
    level = next;
  }
  return { repositories, isComplete: level.length === 0 };
}

/** An agent may have closed a folder. Its workspace is deleted next, so the mode need not be kept. */
async function makeReadable(folder: Buffer): Promise<void> {
  const { mode } = await lstat(folder);
  if ((mode & 0o500) !== 0o500) await chmod(folder, 0o700);
}

async function subfolders(folder: Buffer): Promise<Buffer[]> {
  const entries = await readdir(folder, { withFileTypes: true, encoding: 'buffer' });
  return entries
    .filter((entry) => entry.isDirectory() && !SKIPPED.has(entry.name.toString()))
    .map(({ name }) => below(folder, name));
}

/** `.git` is a folder with a HEAD, or a file that points to one. A `.git` folder without a HEAD is a clone that was never started. */
async function isRepository(folder: Buffer): Promise<boolean> {
  const git = below(folder, '.git');
  const stats = await lstat(git).catch(nullIfMissing);
  if (stats?.isDirectory()) return (await lstat(below(git, 'HEAD')).catch(nullIfMissing)) !== null;
  return stats !== null;
}

function below(folder: Buffer, name: Buffer | string): Buffer {
  return Buffer.concat([folder, Buffer.from(sep), Buffer.from(name)]);
}

/** Scripts receive the path of a repository in a variable, which must be valid text. */
function asText(path: Buffer): string {
  const text = path.toString();
  if (Buffer.from(text).equals(path)) return text;
  throw new Error(`the name of the repository ${JSON.stringify(text)} is not valid UTF-8: rename its folder`);
}

/** A folder that cannot be read may contain work, so any other error is thrown. */
function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
