import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { until } from './until.js';

const MAIN = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));

const UUID_CHARS = 36;

export interface LogLine {
  readonly msg: string;
  readonly time: string;
  readonly issue_identifier?: string;
  readonly run_id?: string;
  readonly [field: string]: unknown;
}

export interface BatonOptions {
  readonly workflowPath: string;
  readonly stateDir: string;
  readonly logFile: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/** The built product as a user runs it, observed only through its log and exit code. */
export class BatonProcess {
  readonly exited: Promise<number | NodeJS.Signals>;
  readonly #child: ChildProcess;
  #output = '';
  #exit: number | NodeJS.Signals | null = null;

  constructor(private readonly options: BatonOptions) {
    const { workflowPath, stateDir, logFile, env, cwd } = options;
    const args = [MAIN, workflowPath, '--state-dir', stateDir, '--log-file', logFile];
    this.#child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-20_000);
      });
    }
    this.exited = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('exit', (code, signal) => {
        this.#exit = code ?? signal;
        resolve(code ?? signal ?? 'SIGKILL');
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** Output other than log lines, for example why the log cannot be opened. */
  get plainOutput(): string {
    const lines = this.#output.split('\n').filter((line) => !line.startsWith('{'));
    return lines.join('\n').trim();
  }

  lines(msg?: string, where: Partial<LogLine> = {}): LogLine[] {
    const wanted = Object.entries(msg === undefined ? where : { msg, ...where });
    return readLines(this.options.logFile).filter((line) => wanted.every(([key, value]) => line[key] === value));
  }

  /** The first such line, past or future. */
  line(msg: string, where: Partial<LogLine> = {}, limitMs = 30_000): Promise<LogLine> {
    return until(`log line "${msg}" ${JSON.stringify(where)}`, limitMs, () => {
      const [found] = this.lines(msg, where);
      if (!found && this.#exit !== null)
        throw new Error(`baton ended with ${this.#exit} before "${msg}": ${this.plainOutput}`);
      return found;
    });
  }

  /** As a service manager does; the exit code. */
  async stop(limitMs = 20_000): Promise<number | NodeJS.Signals> {
    if (this.#exit === null) this.#child.kill('SIGTERM');
    return until('the exit of baton', limitMs, () => this.#exit ?? undefined);
  }

  async kill(): Promise<void> {
    if (this.#exit === null) this.#child.kill('SIGKILL');
    await this.exited;
  }
}

/** The thread of a log line: a session is a thread and one of its turns. */
export function threadOf(line: LogLine | undefined): string {
  return String(line?.session_id).slice(0, UUID_CHARS);
}

function readLines(path: string): LogLine[] {
  let text = '';
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return []; // it has not opened its log yet
  }
  // The text after the last line break is an incomplete line.
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}
