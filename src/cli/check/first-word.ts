/** A word of a shell text as it is written, quotes included. */
export interface ShellWord {
  readonly raw: string;
  /** 0-based. */
  readonly offset: number;
}

/** Text, quotes and plain variables; nothing that would run a command when bash expands it. */
const WORD =
  /(?:[^\s"'\\;&|<>()`$]|\\.|"(?:[^"\\`$]|\\.|\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}))*"|'[^']*'|\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}))+/y;
const WRAPPERS = new Set(['exec', 'env', 'command', 'nohup', 'nice', 'time']);

/** The program that a command line starts; `null` where that cannot be told without running it. */
export function firstWord(command: string): ShellWord | null {
  let at = 0;
  for (;;) {
    at += /^\s*/.exec(command.slice(at))?.[0].length ?? 0;
    WORD.lastIndex = at;
    const raw = WORD.exec(command)?.[0];
    if (raw === undefined) return null;
    const isPassedOver = WRAPPERS.has(raw) || /^[A-Za-z_]\w*=/.test(raw);
    if (!isPassedOver) return raw.startsWith('-') || raw.startsWith('#') ? null : { raw, offset: at };
    at += raw.length;
  }
}
