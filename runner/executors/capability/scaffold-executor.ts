import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { BatonError } from '../../../src/domain/errors.js';
import type { JsonObject } from '../../../src/domain/json.js';
import { validateExecutor } from './definition-file.js';

export interface ScaffoldOptions {
  /** A folder for capabilities, such as `<project>/.baton/capabilities`. */
  readonly dir: string;
  readonly name: string;
  readonly version?: string;
  readonly description?: string;
  readonly supportedTypes: readonly string[];
  readonly entryPoint?: string;
}

/** Creates a working executor whose result names its capability. Overwrites nothing. Throws `BatonError`. */
export async function scaffoldExecutor(options: ScaffoldOptions): Promise<{ readonly dir: string }> {
  const { name, version = '1.0.0', description = '', supportedTypes, entryPoint = 'dist/index.js' } = options;
  const definition = { name, version, description, supportedTypes, entryPoint };
  const dir = join(options.dir, 'executors', name);
  check(definition, dir);
  await makeFolder(dir);
  const files = {
    'executor.yaml': stringify(definition),
    'package.json': `${JSON.stringify({ name, version, private: true, main: entryPoint }, null, 2)}\n`,
    [entryPoint]: PLACEHOLDER,
  };
  try {
    for (const [file, content] of Object.entries(files)) {
      await mkdir(dirname(join(dir, file)), { recursive: true });
      await writeFile(join(dir, file), content, { flag: 'wx' });
    }
  } catch (error) {
    await rm(dir, { recursive: true, force: true });
    throw invalid(`${dir} could not be written: ${(error as Error).message}`, error);
  }
  return { dir };
}

/** Throws unless the executor would be discovered again. Its name is also the name of its folder. */
function check(definition: JsonObject & { readonly name: string; readonly entryPoint: string }, dir: string): void {
  const { name, entryPoint } = definition;
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(name)) {
    throw invalid(`${JSON.stringify(name)} is not a valid executor name; use a–z, 0–9, dot, dash and underscore`);
  }
  const checked = validateExecutor(definition, { dir, source: 'project' });
  if ('problem' in checked) throw invalid(`the executor ${name} ${checked.problem}`);
  if (!/\.[cm]?js$/.test(entryPoint)) {
    throw invalid(`entryPoint must be a .js, .mjs or .cjs file, not ${JSON.stringify(entryPoint)}`);
  }
}

async function makeFolder(dir: string): Promise<void> {
  try {
    await mkdir(dirname(dir), { recursive: true });
    await mkdir(dir);
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    throw invalid(exists ? `${dir} already exists; choose another name` : (error as Error).message, error);
  }
}

function invalid(message: string, cause?: unknown): BatonError {
  return new BatonError('INVALID_REQUEST', message, {}, { cause });
}

const PLACEHOLDER = `// Replace this with your own executor. The returned value is the result of the capability; a thrown error is its error.
import(process.env.BATON_CAPABILITY_CLIENT).then(({ codebolt }) => {
  codebolt.onActionBlockInvocation(async (threadContext, metadata) => {
    const { capabilityName, capabilityType } = threadContext.params;
    return { message: \`\${capabilityType} \${capabilityName} ran\`, executionId: metadata.sideExecutionId };
  });
});
`;
