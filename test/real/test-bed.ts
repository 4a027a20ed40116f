import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import { BatonProcess } from './baton-process.js';
import { Board } from './board.js';
import { MockModel } from './mock-model.js';
import { leftOf } from './processes.js';

const API_KEY = 'key-of-the-mock-model';
const TAIL_LINES = 40;
const LINE_CHARS = 600;

export interface TestBed {
  readonly dir: string;
  readonly model: MockModel;
  readonly board: Board;
  readonly env: NodeJS.ProcessEnv;
  /** All messages of the runs, from Baton's transcripts. */
  transcripts(): string;
  /** Another one may be started on the same folders when it is over. */
  start(): BatonProcess;
}

export interface TestBedOptions {
  /** Further sections of the front matter, as YAML. */
  readonly settings?: string;
  /** Further keys of `codex`, as YAML of one line. */
  readonly codex?: string;
  /** The program that starts Codex, with its arguments. */
  readonly startedBy?: readonly string[];
  /** Where issues come from, as YAML of one line; the board, where nothing is said. */
  readonly tracker?: string;
  readonly prompt?: string;
  /** Additional arguments of the daemon. */
  readonly env?: { readonly [name: string]: string };
}

/**
 * One folder with all that a run needs: a home, a CODEX_HOME that knows only the mock model, a board, and a workflow with these
 * settings. When the test ends, all of it goes, and after a failure its logs are printed first.
 */
export async function testBed(options: TestBedOptions = {}): Promise<TestBed> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton-real-')));
  const model = await MockModel.start();
  const started: BatonProcess[] = [];
  onTestFinished(async ({ task }) => {
    for (const baton of started) await baton.kill();
    // Nothing, unless Baton failed to end it.
    for (const { pid } of leftOf(dir)) kill(pid);
    await model.close();
    const isGood = task.result?.state !== 'fail' && model.unscripted.length === 0;
    if (!isGood) console.error(report(task.name, dir, model, started));
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    if (model.unscripted.length > 0) throw new Error('the model was asked more often than the test expects');
  });
  chmodSync(dir, 0o755);
  const home = join(dir, 'home');
  const codexHome = join(dir, 'codex-home');
  for (const folder of [home, codexHome, join(dir, 'tmp')]) mkdirSync(folder);
  writeFileSync(join(codexHome, 'config.toml'), codexConfig(model.baseUrl));
  writeFileSync(join(dir, 'WORKFLOW.md'), workflow(options));
  const env = {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: home,
    TMPDIR: join(dir, 'tmp'),
    CODEX_HOME: codexHome,
    CODEX_MOCK_KEY: API_KEY,
    GIT_CONFIG_NOSYSTEM: '1',
    ...options.env,
  };
  return {
    dir,
    model,
    env,
    board: new Board(join(dir, 'backlog')),
    transcripts: () =>
      listed(join(dir, 'state', 'transcripts'))
        .map((file) => readFileSync(file, 'utf8'))
        .join('\n'),
    start() {
      const baton = new BatonProcess({
        workflowPath: join(dir, 'WORKFLOW.md'),
        stateDir: join(dir, 'state'),
        logFile: join(dir, `baton-${started.length + 1}.log`),
        env,
        cwd: dir,
      });
      started.push(baton);
      return baton;
    },
  };
}

const BOARD = '{ kind: local, provider: { path: ./backlog } }';
const PROMPT = `Work on {{ issue.identifier }}: {{ issue.title }}

{{ issue.description }}

Call update_issue with the state Done when you are finished.`;

function workflow({ settings = '', codex, startedBy = [], tracker = BOARD, prompt = PROMPT }: TestBedOptions): string {
  // With full paths: a login shell may set another PATH than ours.
  const command = [...startedBy, process.execPath, inject('codex'), 'app-server'].map((word) => `'${word}'`).join(' ');
  return `---
tracker: ${tracker}
polling: { interval_ms: 500 }
workspace: { root: workspaces, min_free_mb: 1 }
codex: { read_timeout_ms: 20000, command: "${command}"${codex ? `, ${codex}` : ''} }
${settings}
---
${prompt}
`;
}

function codexConfig(baseUrl: string): string {
  return `model = "mock-model"
model_provider = "mock"

[model_providers.mock]
name = "mock"
base_url = "${baseUrl}"
wire_api = "responses"
env_key = "CODEX_MOCK_KEY"
request_max_retries = 0
stream_max_retries = 0
`;
}

/** Diagnostics for a failure on another machine. */
function report(name: string, dir: string, model: MockModel, started: readonly BatonProcess[]): string {
  const logs = listed(dir).filter((file) => file.endsWith('.log'));
  // The transcripts hold what codex wrote to stderr, too.
  const files = [...logs, ...listed(join(dir, 'state', 'transcripts'))];
  const parts = [
    ...files.map((file) => `--- ${file}\n${tailOf(readFileSync(file, 'utf8'))}`),
    ...started.map(({ plainOutput }, n) => `--- printed by baton ${n + 1}, besides its log\n${plainOutput}`),
    ...model.unscripted.map(
      ({ issue, input }) =>
        `--- no reply was written for a request of ${issue}\n${tailOf(input.map((item) => JSON.stringify(item)).join('\n'))}`,
    ),
    `--- the model had ${model.requests.length} requests and refused ${model.refused.length}`,
  ];
  return `"${name}" failed. What it left, the end of each file:\n${parts.join('\n')}`;
}

function tailOf(text: string): string {
  const lines = text.trimEnd().split('\n').slice(-TAIL_LINES);
  return lines.map((line) => (line.length > LINE_CHARS ? `${line.slice(0, LINE_CHARS)}…` : line)).join('\n');
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder).map((file) => join(folder, file));
  } catch {
    return [];
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it ended by itself
  }
}
