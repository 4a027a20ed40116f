import { createHash } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { lstat, open, readdir, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import { BoundedMap } from '../domain/bounded-map.js';
import { BatonError } from '../domain/errors.js';
import type { Json } from '../domain/json.js';
import { allSteps } from '../domain/steps/plan.js';
import type { CodeFiles, Workflow } from '../domain/workflow.js';
import { repositoryOf } from './workflow-key.js';

/*
 * The files that a workflow runs: capabilities and their executors, and every file that a hook, a command or an executor names, in the
 * project and in the folders of Baton in the home. They are read when they run, so a branch that is checked out in the project replaces
 * them, and an agent without a sandbox can write those in the home.
 */

const MAX_FILES = 50_000;
const MAX_BYTES = 2 * 1024 * 1024 * 1024;

type Source = Pick<Workflow, 'dir' | 'homeDir' | 'config' | 'plan'>;

/** What is started: hooks and the agent of a run, a notice, or the program of the tracker. */
type Started = 'run' | 'notify' | 'tracker';

/** SHA-256 by path. Throws `workflow_not_allowed` when there are too many files to compare. */
export async function readCodeFiles(workflow: Source): Promise<CodeFiles> {
  return { ...(await readNamedFiles(workflow, 'all')), ...(await readCapabilityFiles(workflow)) };
}

/** Throws `workflow_not_allowed` when a file differs from the one that was allowed. `which` names what is about to start. */
export async function assertCodeFiles(workflow: Workflow, which: Started | 'all' = 'all'): Promise<void> {
  const { files } = workflow;
  if (files === undefined) return;
  const now = which === 'all' ? await readCodeFiles(workflow) : await readNamedFiles(workflow, which);
  // A file that is gone matters only where another one could take its place.
  const wanted = which === 'all' ? Object.keys(files) : [];
  const changed = [...new Set([...wanted, ...Object.keys(now)])].filter((name) => files[name] !== now[name]).sort();
  if (changed.length === 0) return;
  const shown = changed.slice(0, 3).join(', ') + (changed.length > 3 ? `, and ${changed.length - 3} more` : '');
  const message = `files that ${workflow.path} runs differ from those that were allowed: ${shown}. Put them back, or look at them and allow them with \`baton allow\``;
  throw new BatonError('workflow_not_allowed', message, { files: changed.slice(0, 100) });
}

/** The identity of a content: of the file alone, or of the file and the code that it runs. */
export function hashWithFiles(hash: string, files: CodeFiles): string {
  const names = Object.keys(files).sort();
  if (names.length === 0) return hash;
  const all = createHash('sha256').update(hash);
  for (const name of names) all.update(`\0${name}\0${files[name]}`);
  return all.digest('hex');
}

const FOLDERS = ['.codebolt', '.baton'];

function homeFolders(homeDir: string): string[] {
  return FOLDERS.map((name) => path.join(homeDir, name));
}

/** Only for a workflow whose steps use capabilities: for any other they are data of another tool. */
async function readCapabilityFiles({ dir, homeDir, plan }: Source): Promise<CodeFiles> {
  const usesCapabilities = [...allSteps(plan.steps)].some(
    (step) => step.shape === 'action' && step.action.kind === 'capability',
  );
  if (!usesCapabilities) return {};
  const walks = [new Walk(repositoryOf(dir), dir)];
  if (path.resolve(homeDir) !== dir) walks.push(new Walk(homeDir, homeDir, '~'));
  for (const walk of walks) for (const folder of FOLDERS) await walk.add(path.join(walk.dir, folder, 'capabilities'));
  return Object.assign({}, ...walks.map(({ files }) => files));
}

/** Folders that are named are data, or too large to compare; they are skipped. */
async function readNamedFiles(workflow: Source, which: Started | 'all'): Promise<CodeFiles> {
  const { dir, homeDir } = workflow;
  const [project, home] = [new Walk(repositoryOf(dir), dir), new Walk(homeDir, homeDir, '~')];
  const isInHome = (file: string) => homeFolders(homeDir).some((folder) => isInside(folder, file));
  for (const file of namedPaths(workflow, which)) await (isInHome(file) ? home : project).addFile(file);
  if (which === 'run' || which === 'all') for (const folder of usedFolders(workflow)) await project.addLinkOf(folder);
  return { ...home.files, ...project.files };
}

/** What an agent reads, and where it works: in the repository, a branch can make them links to any other place. */
function usedFolders({ dir, config }: Source): string[] {
  return [...config.codex.readable, config.workspace.root].filter((folder) => isInside(repositoryOf(dir), folder));
}

const WORD_BREAK = /[\s`;|&<>()=]+/;
/** `~/x`, `$NAME/x` and `${NAME…}/x`. */
const FROM_VARIABLE = /^(?:~|\$(\w+)|\$\{(\w+)[^}]*\})(?:\/+(.*))?$/s;

/** Those of search paths, too. */
const PATH_BREAK = /[\s`;|&<>()=:]+/;
/** A word with its quoted and escaped parts, which may contain blanks. */
const QUOTED_WORD = /(?:\\.|"(?:\\.|[^"\\])*"|'[^']*'|[^\s`;|&<>()="'\\])+/gs;
/** `${A:-x}` and `$(realpath x)` stand for x. */
const STANDS_FOR = /\$\{\w+:?[-=]([^{}]*)\}|\$\(\s*(?:realpath|readlink)\s+(?:-\S+\s+)*([^\s()]+)\s*\)/g;

/** The words of a shell text, with and without their quotes: `"$A"/b` is one word, and `{"a":"/b"}` contains another one. */
function wordsOf(text: string): string[] {
  const bare = text.replace(/["'\\]/g, '');
  const words = [bare, text.replace(/["']/g, ' ')].flatMap((one) => one.split(WORD_BREAK));
  const inPaths = bare.replace(STANDS_FOR, '$1$2').split(PATH_BREAK);
  const quoted = [...text.matchAll(QUOTED_WORD)].map(([word]) => word.replace(/["']|\\(?=.)/gs, ''));
  return [...words, ...inPaths, ...quoted].filter((word) => word !== '' && word !== '--');
}

/** The next word is a folder that the command enters, or searches for programs. */
const ENTERS = /^(?:cd|pushd|-C|--chdir|--directory|--prefix|--cwd|PATH|\$PATH|\$\{PATH\})$/;
/** `A=$BATON_WORKFLOW_DIR/a; B=$A/b; "$B/run"` needs two. */
const MAX_ASSIGNMENTS = 3;
const MAX_DERIVED = 100_000;

/**
 * Absolute paths inside the repository, or the folders of Baton in the home, that the settings name. Many of them do not exist: every
 * word of a command is tried, also in the folders that the command enters or assigns to a variable.
 */
function namedPaths({ dir, homeDir, config, plan }: Source, which: Started | 'all'): Set<string> {
  const roots = [repositoryOf(dir), ...homeFolders(homeDir)];
  const places = new Map([
    ['BATON_WORKFLOW_DIR', dir],
    ['HOME', homeDir],
  ]);
  const found = new Set<string>();
  const add = (file: string) => {
    if (roots.some((root) => isInside(root, file))) found.add(file);
  };
  const addText = (text: string, startsIn: readonly string[] = []) => {
    const [entered, named]: [string[], string[]] = [[...startsIn], []];
    const [plain, derived]: [string[], string[]] = [[], []];
    const words = wordsOf(text);
    for (const [index, word] of words.entries()) {
      const [start, simple, braced, rest = ''] = FROM_VARIABLE.exec(word) ?? [];
      const variable = start === undefined ? null : (simple ?? braced ?? 'HOME');
      const place = variable === null ? '/' : places.get(variable);
      if (variable === null && !path.isAbsolute(word)) plain.push(word);
      else if (place === undefined) {
        if (text.includes(`${variable}=`)) derived.push(rest);
      } else {
        const file = path.resolve(place, variable === null ? word : rest);
        add(file);
        named.push(file);
        if (ENTERS.test(words[index - 1] ?? '')) entered.push(file);
      }
    }
    for (const folder of entered) for (const word of plain) add(path.resolve(folder, word));
    const parts = new Set(derived);
    let folders = new Set(named);
    for (let depth = 0; depth < MAX_ASSIGNMENTS && folders.size * parts.size <= MAX_DERIVED; depth += 1) {
      folders = new Set([...folders].flatMap((folder) => [...parts].map((rest) => path.resolve(folder, rest))));
      for (const file of folders) add(file);
    }
  };
  const isStarted = (one: Started) => which === one || which === 'all';
  if (isStarted('run'))
    for (const script of [...Object.values(config.hooks.scripts), config.codex.command]) addText(script ?? '');
  // These start in the folder of WORKFLOW.md, so that a plain word can name a file there.
  if (isStarted('notify')) addText(config.notify.command ?? '', [dir]);
  if (isStarted('tracker')) for (const text of textsIn(config.tracker.provider)) addText(text, [dir]);
  if (which !== 'all') return found;
  for (const { command, args, env, dir: from } of Object.values(plan.executors)) {
    if (command.startsWith('~/')) add(path.join(homeDir, command.slice(2)));
    else if (command.includes('/')) add(path.resolve(from, command));
    for (const text of [...args, ...Object.values(env)]) addText(text);
  }
  return found;
}

function textsIn(value: Json): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap((item) => textsIn(item as Json));
}

function isInside(folder: string, file: string): boolean {
  const relative = path.relative(folder, file);
  return relative !== '' && relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
}

/** Follows links inside the repository only; of others it notes the target. Counts what it reads. */
class Walk {
  readonly files: { [name: string]: string } = {};
  readonly #visited = new Set<string>();
  #count = 0;
  #bytes = 0;

  constructor(
    private readonly root: string,
    /** Names in the result are relative to it, with `prefix`. */
    readonly dir: string,
    private readonly prefix = '',
  ) {}

  /** A file or a folder; `name` is its path in the result. */
  async add(place: string, name = this.#nameOf(place)): Promise<void> {
    const stats = await statOf(place);
    if (stats === null) return;
    this.#countOne(stats);
    if (stats.isSymbolicLink())
      await this.#addLink(place, name, (target) => this.add(target, `${name} → ${this.#nameOf(target)}`));
    else if (stats.isDirectory()) await this.#addFolder(place, name);
    else this.files[name] = await fingerprint(place, stats);
  }

  async addFile(place: string, name = this.#nameOf(place)): Promise<void> {
    const stats = await statOf(place);
    if (stats?.isFile()) {
      this.#countOne(stats);
      this.files[name] = await fingerprint(place, stats);
    } else if (stats?.isSymbolicLink()) {
      await this.#addLink(place, name, (target) => this.addFile(target, `${name} → ${this.#nameOf(target)}`));
    }
  }

  /** Adds an entry only when links lead elsewhere. The content is not read. */
  async addLinkOf(place: string): Promise<void> {
    const target = await realpath(place).catch(() => null);
    if (target === null) return;
    const usual = path.join(await realpath(this.root), path.relative(this.root, place));
    if (target !== usual) this.files[`${this.#nameOf(place)} → ${target}`] = 'link';
  }

  async #addLink(place: string, name: string, follow: (target: string) => Promise<void>): Promise<void> {
    this.files[name] = `link ${await readlink(place).catch(() => '')}`;
    const target = await realpath(place).catch(() => null);
    if (target === null || !isInside(await realpath(this.root), target) || this.#visited.has(target)) return;
    this.#visited.add(target);
    await follow(target);
  }

  /** One value for a folder of packages, whose files say little to a person. */
  async #addFolder(place: string, name: string): Promise<void> {
    const names = await readdir(place).catch(() => []);
    names.sort();
    if (path.basename(name) !== 'node_modules') {
      for (const entry of names) await this.add(path.join(place, entry), path.join(name, entry));
      return;
    }
    const before = new Set(Object.keys(this.files));
    for (const entry of names) await this.add(path.join(place, entry), path.join(name, entry));
    const all = createHash('sha256');
    for (const file of Object.keys(this.files).filter((one) => !before.has(one))) {
      all.update(`\0${file}\0${this.files[file]}`);
      delete this.files[file];
    }
    this.files[name] = all.digest('hex');
  }

  #nameOf(target: string): string {
    return path.join(this.prefix, path.relative(this.dir, target));
  }

  #countOne({ size }: BigIntStats): void {
    this.#count += 1;
    this.#bytes += Number(size);
    if (this.#count <= MAX_FILES && this.#bytes <= MAX_BYTES) return;
    const message = `the capabilities in ${this.dir} have more than ${MAX_FILES} files or ${MAX_BYTES} bytes, too many to compare with what was allowed. Bundle their executors, or start with --allow-changes`;
    throw new BatonError('workflow_not_allowed', message);
  }
}

function statOf(place: string): Promise<BigIntStats | null> {
  return lstat(place, { bigint: true }).catch(() => null);
}

interface Known {
  readonly mark: string;
  readonly hash: string;
}

/** Hashes of files that have not changed since, by path. */
const known = new BoundedMap<string, Known>(MAX_FILES);
/** A file that changed a moment ago can change again without another time stamp. */
const SETTLED_NS = 2_000_000_000n;

/** No program can set the time of the last change of an inode, so an unchanged one proves an unchanged file. */
async function fingerprint(place: string, stats: BigIntStats): Promise<string> {
  if (!stats.isFile()) return 'not a file';
  const { dev, ino, size, mode, mtimeNs, ctimeNs } = stats;
  const mark = [dev, ino, size, mode, mtimeNs, ctimeNs].join(' ');
  const before = known.get(place);
  if (before?.mark === mark) return before.hash;
  const hash = `${await sha256(place)}${(mode & 0o111n) === 0n ? '' : ' x'}`;
  if (BigInt(Date.now()) * 1_000_000n - ctimeNs > SETTLED_NS) known.set(place, { mark, hash });
  return hash;
}

async function sha256(place: string): Promise<string> {
  const handle = await open(place, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW).catch(() => null);
  if (handle === null) return 'unreadable';
  try {
    const hash = createHash('sha256');
    const buffer = Buffer.alloc(65_536);
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) return hash.digest('hex');
      hash.update(buffer.subarray(0, bytesRead));
    }
  } catch {
    return 'unreadable';
  } finally {
    await handle.close();
  }
}
