import { readdirSync, readFileSync } from 'node:fs';

export interface Found {
  readonly pid: number;
  readonly parent: number;
  /** With the pid it names one process for ever. */
  readonly startTime: string;
  readonly command: string;
  readonly environment: string;
}

/** Every living process that the kernel shows us; a zombie is dead. */
export function livingProcesses(): Found[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const stat = read(`/proc/${name}/stat`);
      const [state = 'X', parent = '0', ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if ('ZXx'.includes(state)) return [];
      return {
        pid: Number(name),
        parent: Number(parent),
        startTime: rest[17] ?? '',
        command: read(`/proc/${name}/cmdline`).replaceAll('\0', ' '),
        environment: read(`/proc/${name}/environ`),
      };
    });
}

/** Everything below a process, however deep; namespaces hide nothing from the outside. */
export function descendantsOf(pid: number): Found[] {
  const all = livingProcesses();
  const below = (parent: number): Found[] =>
    all.filter((each) => each.parent === parent).flatMap((each) => [each, ...below(each.pid)]);
  return below(pid);
}

/**
 * What is left of a test: those of `known` that live on, and any process that names `folder`, the one folder of the test.
 * CODEX_HOME lies there, so every process of every run has it in its environment, unless it hides that (codex itself may).
 */
export function leftOf(folder: string, known: readonly Found[] = []): Found[] {
  const wasKnown = ({ pid, startTime }: Found) =>
    known.some((each) => each.pid === pid && each.startTime === startTime);
  return livingProcesses()
    .filter(({ pid }) => pid !== process.pid)
    .filter((each) => wasKnown(each) || each.environment.includes(folder) || each.command.includes(folder));
}

/** Empty where the process is gone, or not ours to look into. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
