import { randomUUID } from 'node:crypto';
import { type Fields, fieldsOf, listOf, textOf } from '../domain/fields.js';
import { readInstructions, type Step } from './read-instructions.js';
import { readNote, writeNote } from './workspace-files.js';

/**
 * A thread: what its prompts asked for, how far it got, what it was billed. It is kept in the workspace, so that another
 * process can resume it; like codex, only once a turn has begun.
 */
export class DemoThread {
  readonly id: string;
  name: string | null;
  readonly tools: readonly Fields[];
  readonly usage: Usage;
  /** What was done, a line each, for the comment on the issue. */
  readonly report: string[];
  #steps: Step[];
  #done: number;
  #turnsWanted: number;
  #turnsBegun: number;
  #failOnce: boolean;

  private constructor(
    readonly cwd: string,
    kept: Fields,
  ) {
    this.id = textOf(kept.id) ?? randomUUID();
    this.name = textOf(kept.name);
    this.tools = listOf(kept.tools).map(fieldsOf);
    this.usage = { ...NOTHING_USED, ...(fieldsOf(kept.usage) as Partial<Usage>) };
    this.report = listOf(kept.report).map(String);
    this.#steps = [...(listOf(kept.steps) as readonly Step[])];
    this.#done = Number(kept.done ?? 0);
    this.#turnsWanted = Number(kept.turnsWanted ?? 1);
    this.#turnsBegun = Number(kept.turnsBegun ?? 0);
    this.#failOnce = kept.failOnce === true;
  }

  static start(cwd: string, tools: readonly unknown[]): DemoThread {
    return new DemoThread(cwd, { tools });
  }

  /** `null`: no such thread in this workspace. */
  static resume(cwd: string, id: string): DemoThread | null {
    const text = /^[0-9a-f-]{36}$/.test(id) ? readNote(cwd, `${id}.json`) : null;
    if (text === null) return null;
    try {
      return new DemoThread(cwd, { ...fieldsOf(JSON.parse(text)), id });
    } catch {
      return null;
    }
  }

  /** The steps of the turn that begins. */
  beginTurn(prompt: string): readonly Step[] {
    this.listen(prompt);
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

  /** Any text may bring further steps; they come last. */
  listen(text: string): readonly Step[] {
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

  /** True once per workspace, when the issue asks for it. */
  takeFailure(): boolean {
    if (!this.#failOnce || readNote(this.cwd, FAILED_ONCE) !== null) return false;
    writeNote(this.cwd, FAILED_ONCE, 'The demo agent failed here once, as it was asked to.\n');
    return true;
  }

  save(): void {
    const { id, name, tools, usage, report } = this;
    const progress = { steps: this.#steps, done: this.#done, failOnce: this.#failOnce };
    const turns = { turnsWanted: this.#turnsWanted, turnsBegun: this.#turnsBegun };
    writeNote(this.cwd, `${id}.json`, JSON.stringify({ id, name, tools, usage, report, ...progress, ...turns }));
  }

  /** The client names a thread after its issue. */
  #title(prompt: string): string {
    return this.name ?? prompt.split('\n').find((line) => line.trim() !== '') ?? 'An issue without words';
  }
}

export interface Usage {
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
}

const FAILED_ONCE = 'failed-once';
const NOTHING_USED: Usage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 };
