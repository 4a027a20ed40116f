import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { Io } from '../../src/cli/io.js';
import { runProgram } from '../../src/cli/program.js';
import type { Tracker } from '../../src/domain/ports.js';
import { createTrackerRegistry, type TrackerRegistry } from '../../src/tracker/registry.js';
import { MemoryTracker } from '../support/memory-tracker.js';

export interface World extends Io {
  /** The project, and the current folder. */
  readonly dir: string;
  readonly stdin: PassThrough;
  out(): string;
  err(): string;
  write(name: string, text: string): string;
  /** Puts a program on the PATH of this world. */
  program(name: string, script: string): string;
}

/** A home and a project of their own, and everything that a command prints. Gone after the test. */
export function world(overrides: Partial<Pick<Io, 'isTTY'>> & { env?: NodeJS.ProcessEnv } = {}): World {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'baton-cli-')));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [dir, homeDir, bin] = [join(base, 'project'), join(base, 'home'), join(base, 'bin')];
  for (const folder of [dir, homeDir, bin]) mkdirSync(folder);
  // /etc/profile replaces PATH; users restore it in this way.
  writeFileSync(join(homeDir, '.profile'), `PATH="${bin}:$PATH"\n`);
  const out: string[] = [];
  const err: string[] = [];
  const write = (name: string, text: string) => {
    mkdirSync(join(dir, name, '..'), { recursive: true });
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };
  return {
    dir,
    homeDir,
    cwd: dir,
    isTTY: overrides.isTTY ?? false,
    env: { PATH: `${bin}:${process.env.PATH}`, HOME: homeDir, LANG: 'C', ...overrides.env },
    stdin: new PassThrough(),
    stdout: collect(out),
    stderr: collect(err),
    out: () => out.join(''),
    err: () => err.join(''),
    write,
    program(name, script) {
      const path = join(bin, name);
      writeFileSync(path, script);
      chmodSync(path, 0o755);
      return path;
    },
  };
}

export function memoryRegistry(tracker: Tracker = new MemoryTracker()): TrackerRegistry {
  return createTrackerRegistry([{ kind: tracker.kind, defaults: tracker.defaults, create: () => tracker }]);
}

export function git(cwd: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=T', '-c', 'user.email=t@example.org', '-c', 'init.defaultBranch=main'];
  const env = { PATH: process.env.PATH ?? '', HOME: cwd, GIT_CONFIG_NOSYSTEM: '1' };
  return execFileSync('git', [...identity, ...args], { cwd, env, encoding: 'utf8', stdio: 'pipe' }).trim();
}

function collect(chunks: string[]): Writable {
  return new Writable({
    write(chunk, _, done) {
      chunks.push(String(chunk));
      done();
    },
  });
}

/** The exit code of `baton <args>`, in this process. */
export function baton(io: Io, ...args: string[]): Promise<number> {
  return runProgram(['node', 'baton', ...args], '0.0.0', io);
}
