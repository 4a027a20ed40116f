import type { Stats } from 'node:fs';
import { lstat, mkdir, readFile, realpath, rm } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { toBatonError } from '../../src/domain/errors.js';
import {
  type AgentRepository,
  nestedHead,
  nullIfMissing,
  readPlainFile,
  readText,
  replaceFile,
} from './agent-repository.js';
import { type GitResult, gitRefused, localEnvironment, pipeGit, runGit } from './git.js';
import { type HostRepository, userSetting } from './host-repository.js';

/**
 * Our side of one workspace, in `<workspace root>/.baton/git/workspaces/<key>`: an index of its files, the objects that were made for
 * it or imported from its agent, and where it was cloned from. Git uses the host repository with this index, and the objects of the
 * host beneath these.
 */
export class WorkspaceGit {
  private constructor(
    readonly host: HostRepository,
    /** The workspace: a real path. */
    readonly workspace: string,
    readonly folder: string,
    /** A folder of objects that every command reads from as well. */
    private readonly lender?: string,
  ) {}

  static async open(host: HostRepository, workspace: string): Promise<WorkspaceGit> {
    const real = await realpath(workspace);
    const folder = workspaceFolder(real);
    await mkdir(join(folder, 'objects/pack'), { recursive: true, mode: 0o700 });
    await rm(join(folder, 'index.lock'), { force: true });
    return new WorkspaceGit(host, real, folder);
  }

  /** A repository for one use, with the objects of the agent beneath its own. */
  static async borrow(host: HostRepository, repository: string, { objects }: AgentRepository): Promise<WorkspaceGit> {
    return new WorkspaceGit(host, await realpath(repository), host.path, objects);
  }

  get index(): string {
    return join(this.folder, 'index');
  }

  /** `borrowed`: a folder of objects to read from as well, such as that of the agent. */
  environment(borrowed = this.lender): { [name: string]: string } {
    const beneath = [join(this.host.path, 'objects'), ...(borrowed === undefined ? [] : [borrowed])];
    return {
      ...localEnvironment(this.host.env),
      ...{ GIT_DIR: this.host.path, GIT_WORK_TREE: this.workspace, GIT_INDEX_FILE: this.index },
      GIT_OBJECT_DIRECTORY: join(this.folder, 'objects'),
      GIT_ALTERNATE_OBJECT_DIRECTORIES: beneath.map(quoted).join(':'),
    };
  }

  /** Runs a command that may fail. */
  attempt(args: readonly string[], options: CallOptions = {}): Promise<GitResult> {
    const env = { ...this.environment(options.borrowed), ...options.env };
    const input = options.input === undefined ? {} : { input: options.input };
    return runGit({ args: [...this.settings(), ...args], cwd: this.workspace, env, ...input });
  }

  /** Returns the output, one character per byte, without the last line break. */
  async run(args: readonly string[], options: CallOptions = {}): Promise<string> {
    const { ok, stdout, stderr } = await this.attempt(args, options);
    if (ok) return stdout.replace(/\n$/, '');
    throw gitRefused(`git ${args.find((one) => !one.startsWith('-'))} failed: ${stderr.trim().slice(-1000)}`);
  }

  private settings(): string[] {
    return ['-c', 'core.bare=false', '-c', `core.excludesFile=${join(this.folder, 'exclude')}`];
  }

  /** The tree of a commit; the empty one for null. */
  treeOf(commit: string | null): Promise<string> {
    if (commit === null) return this.run(['hash-object', '-t', 'tree', '--stdin']);
    return this.run(['rev-parse', '--verify', `${commit}^{tree}`]);
  }

  /** Whether our side has an object. */
  async has(id: string): Promise<boolean> {
    return (await this.attempt(['cat-file', '-e', id])).ok;
  }

  /** Those of the objects that our side has. */
  async presentOf(ids: readonly string[], env: CallOptions['env'] = {}): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const input = `${ids.join('\n')}\n`;
    const answer = await this.run(['cat-file', '--batch-check=%(objectname)'], { input, env });
    const lines = answer.split('\n');
    return new Set(ids.filter((id, index) => lines[index] === id));
  }

  async isAncestor(ancestor: string, descendant: string, borrowed?: string): Promise<boolean> {
    const options = borrowed === undefined ? {} : { borrowed };
    return (await this.attempt(['merge-base', '--is-ancestor', ancestor, descendant], options)).ok;
  }

  /**
   * Takes commits of the agent over as objects. Git reads them here, computes their names itself, and rejects what is damaged or
   * incomplete.
   */
  async importCommits(commits: readonly string[], known: readonly string[], agent: AgentRepository): Promise<void> {
    const missing: string[] = [];
    for (const id of commits) if (!(await this.has(id))) missing.push(id);
    if (missing.length === 0) return;
    const input = [...missing, '--not', ...known].map((word) => `${word}\n`).join('');
    const pack = ['pack-objects', '--revs', '--stdout', '--quiet', '--delta-base-offset'];
    const { ok, stderr } = await pipeGit(
      { args: pack, cwd: this.folder, env: this.environment(agent.objects), input },
      { args: ['index-pack', '--stdin', '--strict', '--fix-thin'], cwd: this.folder, env: this.environment() },
    );
    if (!ok)
      throw gitRefused(`commits of ${agent.dir} are damaged, incomplete or rejected: ${stderr.trim().slice(-1000)}`);
  }

  /** Writes commits with all that they need into the repository of the agent, apart from what it has. */
  async exportCommits(commits: readonly string[], had: readonly string[], agent: AgentRepository): Promise<void> {
    const input = [...commits, '--not', ...had].map((word) => `${word}\n`).join('');
    await mkdir(join(agent.objects, 'pack'), { recursive: true });
    await this.run(['pack-objects', '--revs', '--quiet', join(agent.objects, 'pack/pack')], { input });
  }

  /** The agent's git compares files with its index, so it gets ours once that describes its HEAD. */
  async exportIndex(agentDir: string): Promise<void> {
    await replaceFile(join(agentDir, 'index'), await readFile(this.index));
  }

  /** Puts the state of the files into the index and returns its tree. `base` is the commit that they are compared with. */
  async stage(agent: AgentRepository, base: string | null): Promise<StagedFiles> {
    await this.writeExclude(agent);
    await this.readBase(base);
    const ours = await this.entries(this.index);
    const theirs = await this.agentEntries(agent);
    const notes: string[] = [];
    if (theirs !== null) await this.followAgentIndex(ours, theirs);
    await this.addFiles([...ours, ...(theirs ?? [])], notes);
    return { tree: await this.run(['write-tree']), notes };
  }

  private async readBase(base: string | null): Promise<void> {
    const args = ['read-tree', ...(base === null ? ['--empty'] : ['--reset', base])];
    if ((await this.attempt(args)).ok) return;
    // A damaged index of ours contains nothing that cannot be made again.
    await rm(this.index, { force: true });
    await this.run(args);
  }

  private async writeExclude({ dir }: AgentRepository): Promise<void> {
    const path = await userSetting(this.host, ['--type=path', '--get', 'core.excludesFile']);
    const user = path === '' ? '' : await readFile(path, 'utf8').catch(() => '');
    const own = (await readText(join(dir, 'info/exclude'))) ?? '';
    await replaceFile(join(this.folder, 'exclude'), `${user}\n${own}\n`);
  }

  /** Null when the agent has no index. Throws when files are in conflict. */
  private async agentEntries({ dir }: AgentRepository): Promise<readonly IndexEntry[] | null> {
    const content = await readPlainFile(join(dir, 'index'));
    if (content === null) return null;
    const copy = join(this.folder, 'agent-index');
    await replaceFile(copy, content);
    try {
      const entries = await this.entries(copy);
      if (entries.some(({ stage }) => stage !== '0')) throw gitRefused('unresolved conflicts: nothing is committed');
      return entries;
    } finally {
      await rm(copy, { force: true });
    }
  }

  async entries(index: string): Promise<IndexEntry[]> {
    const text = await this.run(['ls-files', '-z', '--stage', '-v'], { env: { GIT_INDEX_FILE: index } });
    return split(text).map((line) => {
      const [tag = '', mode = '', id = '', stage = ''] = line.slice(0, line.indexOf('\t')).split(' ');
      return { tag, mode, id, stage, path: line.slice(line.indexOf('\t') + 1) };
    });
  }

  /** What the agent told its own git to track or to forget counts, as do files that it left out of the working tree. */
  private async followAgentIndex(ours: readonly IndexEntry[], theirs: readonly IndexEntry[]): Promise<void> {
    const mine = new Set(ours.map(({ path }) => path));
    const kept = new Set(theirs.map(({ path }) => path));
    await this.updateIndex(
      ['--force-remove'],
      ours.filter(({ path }) => !kept.has(path)),
    );
    const forced: IndexEntry[] = [];
    for (const entry of theirs)
      if (!mine.has(entry.path) && entry.mode !== GITLINK && (await this.isOwnFile(entry.path))) forced.push(entry);
    await this.updateIndex(['--add', '--replace'], forced);
    const known = theirs.filter(({ path }) => mine.has(path));
    await this.updateIndex(['--skip-worktree'], known.filter(isSkipped));
    await this.updateIndex(['--assume-unchanged'], known.filter(isAssumed));
  }

  async updateIndex(args: readonly string[], entries: readonly IndexEntry[]): Promise<void> {
    const input = joined(entries.map(({ path }) => path));
    if (input !== '') await this.run(['update-index', ...args, '-z', '--stdin'], { input });
  }

  /** A file or a link in the workspace itself, not behind a link. */
  private async isOwnFile(path: string): Promise<boolean> {
    const full = this.pathOf(path);
    const stats = await lstat(full).catch(nullIfMissing);
    if (stats === null || stats.isDirectory()) return false;
    const parent = Buffer.from(full.subarray(0, full.lastIndexOf(sep)));
    return (await realpath(parent, 'buffer').catch(() => null))?.equals(parent) ?? false;
  }

  /**
   * Git would look into a nested repository with the settings that it finds there, and fail for one without a commit. So only the
   * commit of each is taken over, read as data.
   */
  private async addFiles(entries: readonly IndexEntry[], notes: string[]): Promise<void> {
    const others = split(await this.run(['ls-files', '-z', '--others', '--exclude-standard']));
    const nested = others.filter((path) => path.endsWith('/')).map((path) => path.slice(0, -1));
    const known = entries.filter(({ mode }) => mode === GITLINK).map(({ path }) => path);
    const links = [...new Set([...nested, ...known])];
    await this.addAllBut(links);
    const lines: string[] = [];
    for (const path of links) {
      const { head, why } = await nestedHead(this.workspace, Buffer.from(path, 'latin1')).then(
        (commit) => ({ head: commit, why: 'is a repository without a commit' }),
        (error: unknown) => ({ head: null, why: `is left alone: ${toBatonError(error).message}` }),
      );
      const isGone = (await this.statsOf(path)) === null;
      const entry = entries.find((one) => one.path === path);
      if (head !== null) lines.push(`${GITLINK} ${head} 0\t${path}`);
      else if (isGone && entry !== undefined) lines.push(`0 ${'0'.repeat(entry.id.length)}\t${path}`);
      else if (!isGone && !known.includes(path))
        notes.push(`${printable(path)} ${why}. It is left out, and the rest is committed`);
    }
    if (lines.length > 0) await this.run(['update-index', '--replace', '-z', '--index-info'], { input: joined(lines) });
  }

  async addAllBut(paths: readonly string[]): Promise<void> {
    const specs = ['.', ...paths.map((path) => `:(top,exclude,literal)${path}`)];
    await this.run(['add', '--all', '--pathspec-from-file=-', '--pathspec-file-nul'], { input: joined(specs) });
  }

  /** Null when there is nothing. */
  statsOf(path: string): Promise<Stats | null> {
    return lstat(this.pathOf(path)).catch(nullIfMissing);
  }

  private pathOf(path: string): Buffer {
    return Buffer.concat([Buffer.from(`${this.workspace}/`), Buffer.from(path, 'latin1')]);
  }
}

/** Our records of a workspace. Removed with it. */
export function workspaceFolder(workspace: string): string {
  return join(gitFolder(workspace), 'workspaces', basename(workspace));
}

/** The folder of our repositories: beside the workspaces, where hooks see it and agents do not. */
export function gitFolder(workspace: string): string {
  return join(dirname(workspace), '.baton', 'git');
}

export interface StagedFiles {
  readonly tree: string;
  /** For users: what was left out. */
  readonly notes: readonly string[];
}

interface CallOptions {
  readonly input?: string;
  readonly env?: { readonly [name: string]: string };
  readonly borrowed?: string;
}

export interface IndexEntry {
  readonly tag: string;
  readonly mode: string;
  readonly id: string;
  readonly stage: string;
  /** One character per byte. */
  readonly path: string;
}

export const GITLINK = '160000';

/** Not in the working tree, or not looked at there. */
export function isSkipped({ tag }: IndexEntry): boolean {
  return /^s$/i.test(tag);
}

export function isAssumed({ tag }: IndexEntry): boolean {
  return /^[a-z]$/.test(tag);
}

export function split(text: string): string[] {
  return text.split('\0').filter((one) => one !== '');
}

function joined(words: readonly string[]): string {
  return words.map((word) => `${word}\0`).join('');
}

export function printable(path: string): string {
  return JSON.stringify(Buffer.from(path, 'latin1').toString()).slice(1, -1);
}

/** Paths in a list that is separated by colons are quoted as in C. */
function quoted(path: string): string {
  return `"${path.replace(/[\\"]/g, '\\$&')}"`;
}
