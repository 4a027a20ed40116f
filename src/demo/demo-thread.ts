import { randomUUID } from 'node:crypto';
import { type Fields, fieldsOf, listOf, textOf } from '../domain/json.js';
import { readNote, writeNote } from './workspace-files.js';

/**
 * A thread: the steps that its prompts ask for, its progress, and its token usage. It is saved in the workspace when a turn begins, so that
 * another process can resume it, as with codex.
 */
export class DemoThread {
  readonly id: string;
  name: string | null;
  readonly tools: readonly Fields[];
  readonly usage: Usage;
  /** One line for each finished step, for the comment on the issue. */
  readonly report: string[];
  #steps: Step[];
  #done: number;
  #turnsWanted: number;
  #turnsBegun: number;
  #failOnce: boolean;

  private constructor(
    readonly cwd: string,
    saved: Fields,
  ) {
    this.id = textOf(saved.id) ?? randomUUID();
    this.name = textOf(saved.name);
    this.tools = listOf(saved.tools).map(fieldsOf);
    this.usage = { ...NOTHING_USED, ...(fieldsOf(saved.usage) as Partial<Usage>) };
    this.report = listOf(saved.report).map(String);
    this.#steps = [...(listOf(saved.steps) as readonly Step[])];
    this.#done = Number(saved.done ?? 0);
    this.#turnsWanted = Number(saved.turnsWanted ?? 1);
    this.#turnsBegun = Number(saved.turnsBegun ?? 0);
    this.#failOnce = saved.failOnce === true;
  }

  static start(cwd: string, tools: readonly unknown[]): DemoThread {
    return new DemoThread(cwd, { tools });
  }

  /** Returns `null` when the workspace has no such thread. */
  static resume(cwd: string, id: string): DemoThread | null {
    const text = /^[0-9a-f-]{36}$/.test(id) ? readNote(cwd, `${id}.json`) : null;
    if (text === null) return null;
    try {
      return new DemoThread(cwd, { ...fieldsOf(JSON.parse(text)), id });
    } catch {
      return null;
    }
  }

  /** Starts a turn and returns its steps. */
  beginTurn(prompt: string): readonly Step[] {
    this.addSteps(prompt);
    if (this.#turnsBegun === 0) {
      const { failOnce, turns } = readInstructions(prompt);
      this.#failOnce = failOnce;
      this.#turnsWanted = turns;
      if (this.#steps.length === 0)
        this.#steps = [{ kind: 'write', path: 'NOTES.md', text: `# ${this.#title(prompt)}` }];
    }
    this.#turnsBegun += 1;
    this.save();
    const turnsLeft = Math.max(1, this.#turnsWanted - this.#turnsBegun + 1);
    const left = this.#steps.slice(this.#done);
    return left.slice(0, Math.ceil(left.length / turnsLeft));
  }

  /** Appends the steps that a text asks for. */
  addSteps(text: string): readonly Step[] {
    const { steps } = readInstructions(text);
    this.#steps.push(...steps);
    return steps;
  }

  stepDone(line: string): void {
    this.#done += 1;
    this.report.push(line);
    this.save();
  }

  get isLastTurn(): boolean {
    return this.#turnsBegun >= this.#turnsWanted && this.#done >= this.#steps.length;
  }

  /** Returns true once per workspace, when the issue asks for a failure. */
  takeFailure(): boolean {
    if (!this.#failOnce || readNote(this.cwd, FAILED_ONCE) !== null) return false;
    writeNote(this.cwd, FAILED_ONCE, 'The demo agent failed once, because the issue asks for it.\n');
    return true;
  }

  save(): void {
    const { id, name, tools, usage, report } = this;
    const progress = { steps: this.#steps, done: this.#done, failOnce: this.#failOnce };
    const turns = { turnsWanted: this.#turnsWanted, turnsBegun: this.#turnsBegun };
    writeNote(this.cwd, `${id}.json`, JSON.stringify({ id, name, tools, usage, report, ...progress, ...turns }));
  }

  /** The name of the thread, which the client sets to the title of the issue. */
  #title(prompt: string): string {
    return this.name ?? prompt.split('\n').find((line) => line.trim() !== '') ?? 'An issue without text';
  }
}

export interface Usage {
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
}

const FAILED_ONCE = 'failed-once';
const NOTHING_USED: Usage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 };

/** One step of an issue: the demo agent reads bullet lines of four kinds. */
export type Step =
  | { readonly kind: 'write'; readonly path: string; readonly text: string }
  | { readonly kind: 'run'; readonly command: string };

interface Instructions {
  readonly steps: readonly Step[];
  /** The first turn ends as failed. */
  readonly failOnce: boolean;
  /** The number of turns over which the steps are spread. */
  readonly turns: number;
}

const BULLET = /^\s*[-*]\s+(?<instruction>\S.*)$/;
const WRITE = /^write\s+`(?<path>[^`]+)`\s*:\s*(?<text>.*)$/i;
const RUN = /^run\s+`(?<command>[^`]+)`/i;
const FAIL = /^fail\s+once\b/i;
const TURNS = /^take\s+(?<count>two|three|four|[1-9])\s+turns\b/i;

const NUMBERS: { readonly [word: string]: number } = { two: 2, three: 3, four: 4 };

function readInstructions(text: string): Instructions {
  const bullets = text.split(/\r?\n/).flatMap((line) => BULLET.exec(line)?.groups?.instruction?.trim() ?? []);
  const [count] = bullets.flatMap((bullet) => TURNS.exec(bullet)?.groups?.count ?? []);
  return {
    steps: bullets.flatMap(stepOf),
    failOnce: bullets.some((bullet) => FAIL.test(bullet)),
    turns: count === undefined ? 1 : (NUMBERS[count.toLowerCase()] ?? Number(count)),
  };
}

function stepOf(bullet: string): readonly Step[] {
  const { path, text = '' } = WRITE.exec(bullet)?.groups ?? {};
  if (path !== undefined) return [{ kind: 'write', path, text }];
  const { command } = RUN.exec(bullet)?.groups ?? {};
  return command === undefined ? [] : [{ kind: 'run', command }];
}
