#!/usr/bin/env node
import { readFileSync } from 'node:fs';

const { version, engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
  readonly engines: { readonly node: string };
};

/** 0 fine, 1 failed, 2 usage, settings, or a second instance. */
async function main(argv: readonly string[]): Promise<number> {
  if (isTooOld(process.versions.node, engines.node)) {
    throw new Error(
      `Node ${engines.node} is needed, this is ${process.versions.node}. Get a newer one: https://nodejs.org`,
    );
  }
  // Only now: an older Node would fail over the syntax of what is loaded here.
  const { runProgram } = await import('./cli/program.js');
  return runProgram(argv, version);
}

/** `needed` is of the form `>=20.19`. */
function isTooOld(present: string, needed: string): boolean {
  const [major = 0, minor = 0] = present.split('.').map(Number);
  const [neededMajor = 0, neededMinor = 0] = needed.replace('>=', '').split('.').map(Number);
  return major < neededMajor || (major === neededMajor && minor < neededMinor);
}

/**
 * What nobody can read any more, as in `baton --once | head -1`, or that no longer fits on its disk: no reason to end agents in
 * the middle of their work.
 */
let brokenOutput: NodeJS.ErrnoException | null = null;
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error) => {
    brokenOutput ??= error;
  });
}

/** What is still in a pipe would be lost with us. An output that was lost is told a moment after it was written. */
async function end(code: number): Promise<never> {
  await new Promise(setImmediate);
  // From here on a signal ends us as it ends anybody: whoever reads may take all day.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.removeAllListeners(signal);
  for (const stream of [process.stdout, process.stderr])
    await new Promise<void>((done) => stream.write('', () => done()));
  // Who stops reading has seen enough; a disk that is full has not.
  if (brokenOutput === null || brokenOutput.code === 'EPIPE') process.exit(code);
  process.stderr.write(`baton: the output was lost: ${brokenOutput.message}\n`);
  process.exit(code || 1);
}

main(process.argv).then(end, async (error: Error & { code?: string }) => {
  const code = error.name === 'BatonError' ? `${error.code}: ` : '';
  const { neutraliseLines } = await import('./text/neutralise.js');
  process.stderr.write(`baton: ${code}${neutraliseLines(error.message)}\n`);
  process.exit(2);
});
