import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { baton, type World } from '../cli-fixture.js';

/** `baton capability <args>` in a world; the exit code. */
export function capability(io: World, ...args: string[]): Promise<number> {
  return baton(io, 'capability', ...args);
}

/** An executor for `types` whose handler is the body of `async (threadContext, { codebolt })`. */
export function executor(base: string, name: string, types: readonly string[], handler: string): void {
  const dir = join(base, '.baton/capabilities/executors', name);
  put(join(dir, 'executor.yaml'), JSON.stringify({ name, supportedTypes: types }));
  put(
    join(dir, 'dist/index.js'),
    `import(process.env.BATON_CAPABILITY_CLIENT).then(({ codebolt }) => {
      codebolt.onActionBlockInvocation(async (threadContext) => { ${handler} });
    });`,
  );
}

/** A capability.yaml with more than its name. */
export function describeCapability(base: string, type: string, name: string, more: object = {}): void {
  const path = join(base, '.baton/capabilities', type, name, 'capability.yaml');
  put(path, JSON.stringify({ name, type, ...more }));
}

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
