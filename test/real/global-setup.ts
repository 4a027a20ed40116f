import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Entry points of the installed packages, to be run by node. */
    codex: string;
    backlog: string;
    /** Debian's Redmine is installed. */
    hasRedmine: boolean;
  }
}

export function setup(project: TestProject): void {
  if (process.platform !== 'linux') throw new Error('test:real looks for processes in /proc: run it on Linux');
  const installer = fileURLToPath(new URL('install.mjs', import.meta.url));
  const answer = execFileSync(process.execPath, [installer], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { codex, backlog } = JSON.parse(answer);
  project.provide('codex', codex);
  project.provide('backlog', backlog);
  project.provide('hasRedmine', installRedmine());
}

/** Where it cannot be installed its tests are skipped, and the installer has said why; not in CI. */
function installRedmine(): boolean {
  const installer = fileURLToPath(new URL('install-redmine.mjs', import.meta.url));
  try {
    execFileSync(process.execPath, [installer], { stdio: ['ignore', 'ignore', 'inherit'] });
    return true;
  } catch (error) {
    if (process.env.CI) throw error;
    return false;
  }
}
