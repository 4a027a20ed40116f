import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { HostTool } from '../../src/domain/ports.js';
import { updateIssueTool } from '../../src/tracker/update-issue.js';
import { config } from '../support/builders.js';
import { DIST } from '../support/dist.js';
import { MemoryTracker } from '../support/memory-tracker.js';

/** The built demo agent. */
export function compiledAgent(): { readonly path: string; readonly command: string } {
  const path = join(DIST, 'src/demo/agent.js');
  return { path, command: `BATON_DEMO_PACE_MS=0 '${process.execPath}' '${path}'` };
}

/** The real tool on a board in memory with the issue `AB-1`. */
export function board(): { readonly tracker: MemoryTracker; readonly tools: readonly HostTool[] } {
  const tracker = new MemoryTracker();
  tracker.put('AB-1');
  return { tracker, tools: [updateIssueTool(tracker, config().tracker)] };
}

/** The tool of a tracker with these states, and the arguments of its calls. */
export function toolFor(states: string): { readonly tools: readonly HostTool[]; readonly asked: unknown[] } {
  const asked: unknown[] = [];
  const tools = board().tools.map((tool) => ({
    ...tool,
    inputSchema: { type: 'object', properties: { state: { type: 'string', description: `One of: ${states}.` } } },
    async call(input: unknown) {
      asked.push(input);
      return { success: true, text: 'Moved.' };
    },
  }));
  return { tools, asked };
}

/** A folder with a git repository in it, as workspaces have. */
export async function gitFolder(): Promise<{ readonly path: string; changes(): Promise<string[]>; remove(): void }> {
  const path = mkdtempSync(join(tmpdir(), 'baton-demo-'));
  const git = (...args: string[]) =>
    promisify(execFile)('git', args, { cwd: path, env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null' } });
  await git('init', '--quiet', '--template=');
  return {
    path,
    changes: async () => (await git('status', '--porcelain', '-uall')).stdout.split('\n').filter((line) => line !== ''),
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}
