import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { InstallOptions } from '../../../src/cli/service/install.js';
import { installService } from '../../../src/cli/service/install.js';
import { type World, world } from '../cli-fixture.js';

export const UNIT = 'baton-project.service';

export interface ServiceWorld extends World {
  /** The calls that change something. */
  acts(): string[];
  calls(): string[];
  install(options?: Partial<InstallOptions>): Promise<number>;
  workflow(settings?: string): void;
  readonly etcDir: string;
  readonly unitPath: string;
  readonly variablesPath: string;
  read(path: string): string;
  has(path: string): boolean;
}

/**
 * A project with a workflow, and on the PATH programs in place of those of systemd: each writes down how it was called. `answers`:
 * lines of a bash `case` over the arguments, for systemctl; what they do not answer is fine.
 */
export function serviceWorld(answers = '', env: NodeJS.ProcessEnv = {}): ServiceWorld {
  const here = world({ env });
  const log = join(here.dir, '..', 'calls');
  const program = (name: string, cases: string) =>
    here.program(name, `#!/bin/bash\nprintf '%s\\n' "${name} $*" >> '${log}'\ncase "$*" in\n${cases}\n*) ;;\nesac\n`);
  program('systemctl', `${answers}\n*is-system-running) echo running ;;\n*is-active*) echo inactive; exit 3 ;;`);
  program('loginctl', '*) echo no ;;');
  program(
    'journalctl',
    `*) printf '%s\\n' '{"level":"info","time":"2026-01-01T00:00:00.000Z","msg":"started"}' 'Main process exited' ;;`,
  );
  program('getent', '*worker) echo worker:x:1234:1234::/srv/worker:/bin/bash ;;\n*) exit 2 ;;');
  const calls = () => (existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n') : []);
  const script = join(here.dir, '..', 'main.js');
  writeFileSync(script, '');
  const etcDir = join(here.dir, '..', 'etc');
  mkdirSync(etcDir);
  const workflow = (settings = '') =>
    here.write('WORKFLOW.md', `---\ntracker: { kind: local }\nworkspace: { root: ./ws }\n${settings}\n---\nDo it.\n`);
  workflow();
  const fixed = { workflowPath: 'WORKFLOW.md', scope: 'user', dryRun: false, command: 'baton', etcDir } as const;
  return {
    ...here,
    etcDir,
    calls,
    workflow,
    acts: () => calls().filter((call) => !/is-system-running|is-active|loginctl|journalctl|getent|show/.test(call)),
    install: (options = {}) =>
      installService({ ...fixed, program: { node: process.execPath, script }, ...options }, here),
    unitPath: join(here.homeDir, '.config/systemd/user', UNIT),
    variablesPath: join(here.homeDir, '.config/baton/project.env'),
    read: (path) => readFileSync(path, 'utf8'),
    has: existsSync,
  };
}
