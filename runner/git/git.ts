import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { BatonError } from '../../src/domain/errors.js';

/** A git command with an environment of our own. */
export interface GitCall {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: { readonly [name: string]: string };
  /** One character per byte. */
  readonly input?: string;
  /** Instead of `input`: a file, from that offset on. */
  readonly inputFile?: { readonly path: string; readonly offset: number };
}

export interface GitResult {
  readonly ok: boolean;
  /** One character per byte, because names of files may be anything. */
  readonly stdout: string;
  readonly stderr: string;
}

type Environment = { readonly [name: string]: string | undefined };

/** Settings of every call. What an agent could have written is neither a program nor a place here. */
const SAFE = [
  ...['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', '-c', 'core.attributesFile=/dev/null'],
  ...['-c', 'core.untrackedCache=false', '-c', 'core.commitGraph=false', '-c', 'core.multiPackIndex=false'],
  ...['-c', 'core.alternateRefsCommand=true', '-c', 'pack.useBitmaps=false', '-c', 'gc.auto=0'],
  ...['-c', 'maintenance.auto=false', '-c', 'fetch.recurseSubmodules=false', '-c', 'push.recurseSubmodules=no'],
  ...['-c', 'submodule.recurse=false', '-c', 'diff.ignoreSubmodules=all', '-c', 'push.followTags=false'],
  ...['-c', 'push.gpgSign=false', '-c', 'commit.gpgSign=false', '-c', 'advice.addEmbeddedRepo=false'],
  ...['-c', 'transfer.unpackLimit=1', '-c', 'fetch.unpackLimit=1', '-c', 'i18n.commitEncoding=UTF-8'],
];

/**
 * Git on the files of a workspace: no settings of the user, the system or the workspace, and no network. Also for objects that an
 * agent has written.
 */
export function localEnvironment(base: Environment): { [name: string]: string } {
  return {
    ...without(base, (name) => name.startsWith('GIT_') && !/^GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL)$/.test(name)),
    ...COMMON,
    ...{ GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    ...{ GIT_ALLOW_PROTOCOL: 'none', GIT_NO_LAZY_FETCH: '1', GIT_ATTR_NOSYSTEM: '1' },
  };
}

/** Git that talks to the remote, with the user's own settings, because credentials are there. It never sees the workspace. */
export function remoteEnvironment(base: Environment, url: string): { [name: string]: string } {
  return { ...userEnvironment(base), GIT_ALLOW_PROTOCOL: protocolsFor(url) };
}

/** Git with the user's own settings. */
export function userEnvironment(base: Environment): { [name: string]: string } {
  return { ...without(base, (name) => POINTERS.test(name)), ...COMMON };
}

/** The author of commits that Baton makes for itself. */
export const BATON_IDENTITY = {
  ...{ GIT_AUTHOR_NAME: 'Baton', GIT_AUTHOR_EMAIL: 'baton@localhost' },
  ...{ GIT_COMMITTER_NAME: 'Baton', GIT_COMMITTER_EMAIL: 'baton@localhost' },
};

const COMMON = {
  ...{ GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0', GIT_NO_REPLACE_OBJECTS: '1' },
  ...{ GIT_PAGER: 'cat', GIT_EDITOR: 'true', LC_ALL: 'C', GIT_DEFAULT_REF_FORMAT: 'files' },
};

/** Variables that lead git to another repository or to a program that has nothing to do with the network. */
const POINTERS =
  /^GIT_(?:DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|NAMESPACE|PREFIX|IMPLICIT_WORK_TREE|SHALLOW_FILE|GRAFT_FILE|QUARANTINE_PATH|CEILING_DIRECTORIES|EXTERNAL_DIFF|EDITOR|PAGER|TEMPLATE_DIR|ALLOW_PROTOCOL|REPLACE_REF_BASE|TRACE.*)$/;

function without(base: Environment, isDropped: (name: string) => boolean): { [name: string]: string } {
  const env: { [name: string]: string } = {};
  for (const [name, value] of Object.entries(base)) if (value !== undefined && !isDropped(name)) env[name] = value;
  // A relative entry would find programs in the workspace.
  env.PATH = (env.PATH ?? '')
    .split(':')
    .filter((folder) => folder.startsWith('/'))
    .join(':');
  return env;
}

/** `ext::` and other helpers run commands, so protocols are allowed by name. */
function protocolsFor(url: string): string {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  if (scheme === 'http') return 'https:ssh:http';
  if (scheme === 'file' || isLocalPath(url)) return 'https:ssh:file';
  return 'https:ssh';
}

/** `host:path` is SSH, `helper::address` is a helper, and `/path`, `./path` and `C:`-less names are local. */
export function isLocalPath(url: string): boolean {
  return url.startsWith('/') || url.startsWith('./') || url.startsWith('../') || !url.includes(':');
}

/** Runs git without a shell. Throws only when git cannot be started. */
export function runGit({ args, cwd, env, input, inputFile }: GitCall): Promise<GitResult> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', [...SAFE, ...args], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    child.stdin.on('error', () => {}); // git has ended before it read all of its input; its exit code says so
    child.once('error', (error) => reject(notStarted(error)));
    child.once('close', (code) =>
      resolve({ ok: code === 0, stdout: Buffer.concat(stdout).toString('latin1'), stderr: text(stderr) }),
    );
    if (inputFile === undefined) child.stdin.end(Buffer.from(input ?? '', 'latin1'));
    else createReadStream(inputFile.path, { start: inputFile.offset }).once('error', reject).pipe(child.stdin);
  });
}

/** Sends the output of one git command to another. Succeeds when both do. */
export function pipeGit(from: GitCall, to: GitCall): Promise<GitResult> {
  return new Promise((resolve, reject) => {
    const source = spawn('git', [...SAFE, ...from.args], { cwd: from.cwd, env: from.env, stdio: 'pipe' });
    const target = spawn('git', [...SAFE, ...to.args], { cwd: to.cwd, env: to.env, stdio: 'pipe' });
    const stderr: Buffer[] = [];
    const codes: (number | null)[] = [];
    const onClose = (code: number | null) => {
      codes.push(code);
      if (codes.length === 2) resolve({ ok: codes.every((one) => one === 0), stdout: '', stderr: text(stderr) });
    };
    for (const child of [source, target]) {
      child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
      child.stdin.on('error', () => {});
      child.once('error', (error) => reject(notStarted(error)));
      child.once('close', onClose);
    }
    source.stdout.pipe(target.stdin);
    // The source would wait for ever to write to a target that has ended.
    target.once('close', () => source.stdout.destroy());
    target.stdout.resume();
    source.stdin.end(Buffer.from(from.input ?? '', 'latin1'));
  });
}

/** Makes a repository of our own in an existing folder. */
export async function initRepository(path: string, options: readonly string[], env: Environment): Promise<void> {
  const args = ['init', '--quiet', '--template=', ...options, path];
  const { ok, stderr } = await runGit({ args, cwd: path, env: localEnvironment(env) });
  if (!ok) throw gitRefused(`the repository ${path} could not be made: ${stderr.trim()}`);
}

function text(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString();
}

function notStarted(error: Error): BatonError {
  return gitRefused(`git could not be started: ${error.message}. Install it, or put it on the PATH`);
}

export function gitRefused(message: string): BatonError {
  return new BatonError('git_refused', message);
}
