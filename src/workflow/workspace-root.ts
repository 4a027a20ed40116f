import path from 'node:path';
import { variableName } from './secrets.js';
import { realOrSame, workflowKey } from './workflow-key.js';

export interface RootContext {
  readonly env: NodeJS.ProcessEnv;
  readonly homeDir: string;
  /** Absolute path of WORKFLOW.md. */
  readonly workflowPath: string;
}

export type RootResult = { readonly root: string; readonly warning: string | null } | { readonly problem: string };

/** The absolute `workspace.root`, or the problem with it. `written` is the value in the file, or null. */
export async function resolveWorkspaceRoot(written: string | null, context: RootContext): Promise<RootResult> {
  if (written === null) return { root: await defaultRoot(context), warning: null };
  const root = resolvePath(written, 'workspace.root', context);
  if (typeof root !== 'string') return root;
  const warning =
    written.includes('$') && variableName(written.trim()) === null
      ? 'workspace.root is taken literally: $NAME stands for a variable only as the whole value'
      : null;
  return { root, warning };
}

/** The absolute path that `written` stands for, or the problem with it: `~`, `$NAME`, or relative to WORKFLOW.md. */
export function resolvePath(
  written: string,
  setting: string,
  { env, homeDir, workflowPath }: RootContext,
): string | { readonly problem: string } {
  const value = expandVariable(written.trim(), setting, env);
  return typeof value === 'string' ? path.resolve(path.dirname(workflowPath), expandHome(value, homeDir)) : value;
}

/** Could an agent in a workspace below `root` edit WORKFLOW.md, directly or as the target of a link? */
export async function isInsideRoot(workflowPath: string, root: string): Promise<boolean> {
  const realRoot = await realOrSame(root);
  const folder = await realOrSame(path.dirname(workflowPath));
  const paths = [path.join(folder, path.basename(workflowPath)), await realOrSame(workflowPath)];
  return paths.some((candidate) => {
    const relative = path.relative(realRoot, candidate);
    return relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
  });
}

async function defaultRoot({ env, homeDir, workflowPath }: RootContext): Promise<string> {
  const xdg = env.XDG_DATA_HOME;
  // The XDG specification requires that relative paths are ignored.
  const data = xdg !== undefined && path.isAbsolute(xdg) ? xdg : path.join(homeDir, '.local', 'share');
  return path.join(data, 'baton', await workflowKey(workflowPath), 'workspaces');
}

function expandVariable(value: string, setting: string, env: NodeJS.ProcessEnv): string | { problem: string } {
  const name = variableName(value);
  if (name === null) return value;
  const resolved = env[name]?.trim() ?? '';
  if (resolved !== '') return resolved;
  return { problem: `${setting} is $${name}, but the variable ${name} is not set or empty; set it` };
}

function expandHome(value: string, homeDir: string): string {
  return value === '~' || value.startsWith('~/') ? path.join(homeDir, value.slice(1)) : value;
}
