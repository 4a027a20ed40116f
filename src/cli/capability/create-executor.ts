import { join } from 'node:path';
import { scaffoldExecutor } from '../../../runner/executors/capability/scaffold-executor.js';
import { neutralise } from '../../text/neutralise.js';
import { shorter } from '../invocation.js';
import type { Io } from '../io.js';
import { complain } from './complain.js';
import { projectFolder } from './project-folder.js';

export interface CreateOptions {
  readonly name: string;
  readonly types: readonly string[];
  readonly description?: string;
  /** In the home folder instead of the project. */
  readonly isGlobal: boolean;
  readonly workflow?: string;
}

/** Makes the folder of an executor and says what comes next. */
export async function createExecutor(options: CreateOptions, io: Io): Promise<number> {
  const { name, types, description, isGlobal, workflow } = options;
  try {
    const base = isGlobal ? io.homeDir : await projectFolder(workflow, io);
    const { dir } = await scaffoldExecutor({
      dir: join(base, '.baton', 'capabilities'),
      name,
      supportedTypes: types,
      ...(description === undefined ? {} : { description }),
    });
    const example = `.baton/capabilities/${types[0]}/<name>/capability.yaml`;
    io.stdout.write(
      `${neutralise(`Made ${shorter(dir, io.cwd)}, which runs capabilities of type ${types.join(', ')}.`)}\n` +
        `Put your code into its dist/index.js, and describe a capability for it in ${neutralise(example)}.\n`,
    );
    return 0;
  } catch (error) {
    return complain(error, 2, io);
  }
}
