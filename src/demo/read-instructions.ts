/** What the demo agent understands of an issue: bullet lines of four kinds. Pure. */
export type Step =
  | { readonly kind: 'write'; readonly path: string; readonly text: string }
  | { readonly kind: 'run'; readonly command: string };

export interface Instructions {
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

export function readInstructions(text: string): Instructions {
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
