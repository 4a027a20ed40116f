import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished, vi } from 'vitest';
import type { State } from '../../orchestrator/state.js';
import { discoverCapabilities } from '../../runner/executors/capability/definitions.js';
import { acceptedShape, stateShape } from '../../src/api/schemas.js';
import { connectDaemon } from '../../src/cli/client.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import type { Daemon } from '../../src/daemon/options.js';
import type { OrchestratorEvent } from '../../src/domain/events.js';
import type { JsonObject } from '../../src/domain/json.js';
import type { Store } from '../../src/domain/ports.js';
import { createLogger } from '../../src/logging/logger.js';
import { createRedactor } from '../../src/logging/redact.js';
import { defaultLockDir, openStateDir } from '../../src/state-dir.js';
import { createTrackerRegistry, type TrackerEntry } from '../../src/tracker/registry.js';
import { loadWorkflow } from '../../src/workflow/load-workflow.js';
import { forms } from '../runner/contain/workbench.js';
import { MemoryTracker } from './memory-tracker.js';

export interface TestDaemon extends Daemon {
  readonly dir: string;
  readonly tracker: MemoryTracker;
  readonly workflowPath: string;
  readonly workspaces: string;
  readonly stateDir: string;
  /** A request over HTTP with the token, where the daemon has a port. */
  request(path: string): Promise<Response>;
  readonly logLines: { readonly [key: string]: unknown }[];
  /** Resolves when `holds` accepts the state, now or after a later event. */
  until(what: string, holds: (state: State, event: OrchestratorEvent | null) => boolean): Promise<void>;
  stop(): Promise<number>;
}

export interface TestDaemonOptions {
  /** The front matter below `tracker` and `workspace`, as YAML. */
  readonly settings?: string;
  readonly body?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly tracker?: MemoryTracker;
  /** YAML of `tracker.provider`. */
  readonly provider?: string;
  /** A tracker of the product in place of the board in memory. */
  readonly adapter?: {
    readonly entry: TrackerEntry /** What stands below `tracker:`, as JSON. */;
    readonly section: JsonObject;
  };
  readonly store?: Store;
  /** The home of the user. Daemons of the same user share it, and their locks. By default each daemon has its own. */
  readonly home?: string;
  readonly stateDir?: string;
  /** `workspace.root` */
  readonly root?: string;
  /** The folder of an earlier daemon, to start again with what is there. */
  readonly again?: string;
  readonly allowChanges?: boolean;
  /** Called with the folder of the test before the daemon starts. */
  before?(dir: string): Promise<void>;
}

export const agentCommand = (script: string, ...args: string[]): string => {
  const path = fileURLToPath(new URL(`agents/${script}.mjs`, import.meta.url));
  return [process.execPath, path, ...args].map((word) => `'${word}'`).join(' ');
};

/** The whole daemon in this process, on a board in memory: real files, real hooks, real agents, real time. */
export async function testDaemon(options: TestDaemonOptions = {}): Promise<TestDaemon> {
  const { allowChanges = false } = options;
  const dir = options.again ?? (await realpath(await mkdtemp(join(tmpdir(), 'baton-e2e-'))));
  const home = options.home ?? join(dir, 'home');
  await mkdir(home, { recursive: true });
  const workflowPath = join(dir, 'WORKFLOW.md');
  if (options.again === undefined) {
    onTestFinished(() => rm(dir, { recursive: true, force: true }));
    await writeFile(workflowPath, workflowText(options));
    await options.before?.(dir);
  }
  const tracker = options.tracker ?? new MemoryTracker();
  const entry = options.adapter?.entry ?? { kind: 'memory', defaults: tracker.defaults, create: () => tracker };
  const trackers = createTrackerRegistry([entry]);
  const env = { PATH: process.env.PATH ?? '', HOME: home, ...options.env };
  const trackerKinds = new Map([[entry.kind, entry.defaults]]);
  const capabilities = (projectDir: string) => discoverCapabilities({ projectDir, homeDir: home });
  const comparesCode = !allowChanges;
  const loaded = await loadWorkflow(workflowPath, { env, homeDir: home, trackerKinds, capabilities, comparesCode });
  const stateDir = await openStateDir(options.stateDir ?? join(dir, 'state'));
  const redactor = createRedactor();
  const logLines: { [key: string]: unknown }[] = [];
  const stream = { write: (line: string) => logLines.push(JSON.parse(line)) };
  const log = createLogger({ level: 'debug', redactor, stream, pretty: false });

  const waiting = new Set<(state: State, event: OrchestratorEvent | null) => void>();
  const daemon = await startDaemon({
    loaded,
    stateDir,
    lockDir: options.home === undefined ? join(dir, 'locks') : defaultLockDir({}, home),
    trackers,
    log,
    redactor,
    env,
    homeDir: home,
    version: '0.0.0-test',
    allowChanges,
    ...(options.store ? { store: options.store } : {}),
    onDecided: (event, state) => {
      for (const look of [...waiting]) look(state, event);
    },
  });
  let isStopped = false;
  const stop = () => {
    if (!isStopped) daemon.dispatch({ type: 'shutdown_requested' });
    isStopped = true;
    return daemon.exited;
  };
  onTestFinished(async () => void (await stop()));
  const until: TestDaemon['until'] = (what, holds) =>
    new Promise((resolve, reject) => {
      const look = (state: State, event: OrchestratorEvent | null) => {
        if (!holds(state, event)) return;
        waiting.delete(look);
        clearTimeout(limit);
        resolve();
      };
      const seen = () =>
        logLines.map((line) => `${line.issue_identifier ?? ''} ${line.msg} ${line.detail ?? ''}`).join('\n');
      const limit = setTimeout(() => reject(new Error(`never: ${what}\n${seen()}`)), 20_000);
      waiting.add(look);
      look(daemon.state, null);
    });
  return {
    dispatch: daemon.dispatch,
    exited: daemon.exited,
    get state() {
      return daemon.state;
    },
    dir,
    tracker,
    workflowPath,
    workspaces: join(dir, 'workspaces'),
    stateDir: stateDir.path,
    request: async (path) => {
      const url = String(logLines.find((line) => line.msg === 'serving status over HTTP')?.url ?? '');
      const token = (await readFile(join(stateDir.path, 'http-token'), 'utf8')).trim();
      return fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
    },
    logLines,
    until,
    stop,
  };
}

/** Waits until a content of WORKFLOW.md is held, and allows it as `baton allow` does. Returns what was held. */
export async function allowHeld({ workflowPath, stateDir, dir }: TestDaemon) {
  const io = { cwd: dir, env: {}, homeDir: dir };
  return vi.waitFor(
    async () => {
      // Not there for a moment while the daemon is opened again.
      const client = await connectDaemon({ workflow: workflowPath, stateDir }, io);
      try {
        const { held } = (await client.get('/api/v1/state', stateShape)).workflow;
        if (held === null) throw new Error('nothing is held');
        await client.post('/api/v1/allow', { hash: held.hash }, acceptedShape);
        return held;
      } finally {
        client.close();
      }
    },
    { timeout: 15_000 },
  );
}

/** Without namespaces a workflow must accept that agents may read the secrets of the daemon. */
const ACCEPTED = forms.includes('pidns') ? '' : 'runtime: { isolation: none }\n';

export function workflowText({
  settings = '',
  body = 'Work on {{ issue.identifier }}',
  provider = '{}',
  root = 'workspaces',
  adapter,
}: TestDaemonOptions): string {
  const runtime = settings.includes('runtime:') ? '' : ACCEPTED;
  const tracker = adapter ? JSON.stringify(adapter.section) : `{ kind: memory, provider: ${provider} }`;
  return `---
tracker: ${tracker}
polling: { interval_ms: 50 }
workspace: { root: ${root}, min_free_mb: 1 }
${runtime}${settings}
---
${body}
`;
}
