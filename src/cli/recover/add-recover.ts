import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Io } from '../io.js';

/** The flags of `baton recover`. What it does is loaded when it is called. */
export function addRecover(program: Command, io: Io, done: (code: number) => void): void {
  program
    .command('recover')
    .description(
      'bring back what was saved of a removed workspace, as new branches; touches no file and no other branch',
    )
    .argument('[issue]', 'its identifier; without one, --list is meant')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .option('--list', 'show what was saved, of the issue or of all, and do nothing')
    .option('--saved <name>', 'another than the newest, by its name in the list')
    .option('--repository <path>', 'where several were saved: which one, by its path in the workspace')
    .option('--into <dir>', 'the repository that gets the branches (default: the one of this folder)')
    .option('--state-dir <dir>', 'the state directory of the daemon')
    .action(async (first: string | undefined, second: string, flags: RecoverFlags) => {
      // Who lists everything of another workflow has no issue to name.
      const isWorkflow = first !== undefined && /\.md$/i.test(first) && existsSync(resolve(io.cwd, first));
      const [issue, workflowPath] = isWorkflow ? [undefined, first] : [first, second];
      const [{ recover }, { invocation }] = await Promise.all([import('../recover.js'), import('../invocation.js')]);
      const list = flags.list ?? (issue === undefined && flags.saved === undefined);
      const command = invocation(process.argv, io.cwd);
      done(await recover({ ...flags, issue, workflowPath, list, command }, io));
    });
}

interface RecoverFlags {
  readonly list?: boolean;
  readonly saved?: string;
  readonly repository?: string;
  readonly into?: string;
  readonly stateDir?: string;
}
