import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { BatonError } from '../../../src/domain/errors.js';
import { isInside } from './validate-definition.js';

export interface ScaffoldOptions {
  /** A folder of capabilities, such as `<project>/.baton/capabilities`. */
  readonly dir: string;
  readonly name: string;
  readonly version?: string;
  readonly description?: string;
  readonly supportedTypes: readonly string[];
  readonly entryPoint?: string;
}

/** Makes an executor that works as it is: it gives back its parameters. Overwrites nothing. Throws `BatonError`. */
export async function scaffoldExecutor(options: ScaffoldOptions): Promise<{ readonly dir: string }> {
  const { name, version = '1.0.0', description = '', supportedTypes, entryPoint = 'dist/index.js' } = options;
  check(name, supportedTypes, entryPoint);
  const dir = join(options.dir, 'executors', name);
  await makeFolder(dir);
  const files = {
    'executor.yaml': stringify({ name, version, description, supportedTypes, entryPoint }),
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

function check(name: string, supportedTypes: readonly string[], entryPoint: string): void {
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(name)) {
    throw invalid(`${JSON.stringify(name)} cannot name an executor; use a–z, 0–9, dot, dash and underscore`);
  }
  const areTypes = supportedTypes.every((type) => type.trim() !== '' && type.length <= 200 && !/\p{Cc}/u.test(type));
  if (supportedTypes.length === 0 || !areTypes) throw invalid('supportedTypes must name at least one type');
  if (!isInside(entryPoint) || !/\.[cm]?js$/.test(entryPoint)) {
    throw invalid(
      `entryPoint must be a .js, .mjs or .cjs file inside of the executor, not ${JSON.stringify(entryPoint)}`,
    );
  }
}

async function makeFolder(dir: string): Promise<void> {
  try {
    await mkdir(dirname(dir), { recursive: true });
    await mkdir(dir);
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    throw invalid(isThere ? `${dir} is there already; choose another name` : (error as Error).message, error);
  }
}

function invalid(message: string, cause?: unknown): BatonError {
  return new BatonError('INVALID_REQUEST', message, {}, { cause });
}

const PLACEHOLDER = `// Replace this with your own executor. What the handler returns is the result of the capability; what it throws, its error.
import(process.env.BATON_CAPABILITY_CLIENT).then(({ codebolt }) => {
  codebolt.onActionBlockInvocation(async (threadContext, metadata) => {
    const { capabilityName, capabilityType } = threadContext.params;
    return { message: \`\${capabilityType} \${capabilityName} ran\`, executionId: metadata.sideExecutionId };
  });
});
`;
