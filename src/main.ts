#!/usr/bin/env node
import { readFileSync, statSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { stateBase } from './state-dir.js';

const { version, engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
  readonly engines: { readonly node: string };
};

/** Returns the exit code: 0 success, 1 failure, 2 wrong usage, wrong settings or a second instance. */
async function main(argv: readonly string[]): Promise<number> {
  if (isTooOld(process.versions.node, engines.node)) {
    throw new Error(
      `Node ${engines.node} is needed, this is ${process.versions.node}. Install a newer one: https://nodejs.org`,
    );
  }
  keepCompiledCode();
  // Imported only now: an older Node cannot parse these modules.
  const { runProgram } = await import('./cli/program.js');
  return runProgram(argv, version);
}

/** `needed` has the form `>=20.19`. */
function isTooOld(present: string, needed: string): boolean {
  const [major = 0, minor = 0] = present.split('.').map(Number);
  const [neededMajor = 0, neededMinor = 0] = needed.replace('>=', '').split('.').map(Number);
  return major < neededMajor || (major === neededMajor && minor < neededMinor);
}

/**
 * From Node 22.1 on, keeps what V8 has compiled, which saves a quarter of the time of a start. It is executed, so it lies in the folder of
 * all state, which no run sees, and only where no other account can write. Commands make no such folder where no daemon has run.
 */
function keepCompiledCode(): void {
  const { enableCompileCache } = module as typeof module & { enableCompileCache?(folder: string): unknown };
  const folder = stateBase({}, homedir());
  const found = statSync(folder, { throwIfNoEntry: false });
  const isOwn = found !== undefined && found.uid === process.geteuid?.() && (found.mode & 0o022) === 0;
  if (isOwn) enableCompileCache?.(join(folder, 'compiled'));
}

/**
 * The first error of stdout or stderr: a closed pipe, as in `baton --once | head -1`, or a full disk. It must not end agents that are
 * at work.
 */
let brokenOutput: NodeJS.ErrnoException | null = null;
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error) => {
    brokenOutput ??= error;
  });
}

/** Exits once the output is flushed: buffered output would be lost. A write error arrives a moment after the write. */
async function end(code: number): Promise<never> {
  await new Promise(setImmediate);
  // From here on signals end the process as usual: a slow reader of the output may take hours.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.removeAllListeners(signal);
  for (const stream of [process.stdout, process.stderr])
    await new Promise<void>((done) => stream.write('', () => done()));
  // A closed pipe is no error: its reader has seen enough. A full disk is one.
  if (brokenOutput === null || brokenOutput.code === 'EPIPE') process.exit(code);
  process.stderr.write(`baton: the output was lost: ${brokenOutput.message}\n`);
  process.exit(code || 1);
}

main(process.argv).then(end, async (error: Error & { code?: string }) => {
  const code = error.name === 'BatonError' ? `${error.code}: ` : '';
  const { neutraliseLines } = await import('./text/neutralise.js');
  process.stderr.write(`baton: ${code}${neutraliseLines(error.message)}\n`);
  // It can pass by itself, so systemd is to start the service again.
  process.exit(error.code === 'isolation_failed' ? 1 : 2);
});
