import { randomUUID } from 'node:crypto';
import { lstatSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { type Fields, fieldsOf, listOf, textOf } from '../domain/json.js';

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

/** What the demo agent understands of an issue: bullet lines of four kinds. Pure. */
export type Step =
  | { readonly kind: 'write'; readonly path: string; readonly text: string }
  | { readonly kind: 'run'; readonly command: string };

interface Instructions {
  readonly steps: readonly Step[];
  /** The first turn ends as failed. */
  readonly failOnce: boolean;
  /** Over how many turns the steps are spread. */
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

/** The files of the workspace, and the agent's own notes in `.demo/`, which git is told to ignore. Nothing outside is touched. */
const NOTES = '.demo';

interface FileChange {
  readonly path: string;
  readonly kind: { readonly type: 'add' } | { readonly type: 'update'; readonly move_path: null };
  /** As codex has it: the whole text of a new file, a unified diff of one that was there. */
  readonly diff: string;
}

/** `null`: the path leads out of the workspace, into `.git` or `.demo`, or through a symlink. */
export function fileChange(root: string, path: string, text: string): FileChange | null {
  const target = resolve(root, path);
  const parts = relative(root, target).split(sep);
  if (isAbsolute(path) || parts.some((part) => ['', '..', '.git', NOTES].includes(part))) return null;
  if (!isOrdinary(root, parts)) return null;
  const before = readIfThere(target);
  if (before === null) return { path: target, kind: { type: 'add' }, diff: text };
  return { path: target, kind: { type: 'update', move_path: null }, diff: unifiedDiff(before, text) };
}

export function writeText(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function readNote(root: string, name: string): string | null {
  return isOrdinary(root, [NOTES, name]) ? readIfThere(join(root, NOTES, name)) : null;
}

function writeNote(root: string, name: string, text: string): void {
  if (![name, '.gitignore'].every((each) => isOrdinary(root, [NOTES, each])))
    throw new Error(`${NOTES} in the workspace is not a folder of the demo agent`);
  writeText(join(root, NOTES, '.gitignore'), '*\n');
  writeFileSync(join(root, NOTES, name), text);
}

/** Folders all the way, and at the end a file or nothing. */
function isOrdinary(root: string, parts: readonly string[]): boolean {
  let path = realpathSync(root);
  for (const [index, part] of parts.entries()) {
    path = join(path, part);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (!found) return true;
    if (index < parts.length - 1 ? !found.isDirectory() : !found.isFile()) return false;
  }
  return true;
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** One hunk, from the first line that differs to the last. */
function unifiedDiff(before: string, after: string): string {
  const [old, now] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < Math.min(old.length, now.length) && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(old.length, now.length) - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const removed = old.slice(head, old.length - tail);
  const added = now.slice(head, now.length - tail);
  if (removed.length + added.length === 0) return '';
  const range = (lines: readonly string[]) => `${lines.length === 0 ? head : head + 1},${lines.length}`;
  const hunk = [...removed.map((line) => `-${line}`), ...added.map((line) => `+${line}`)];
  return `@@ -${range(removed)} +${range(added)} @@\n${hunk.join('\n')}\n`;
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
