/** Colours of a terminal, or nothing. */
export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

export function paintOf(colour: boolean): Paint {
  const style =
    (code: number) =>
    (text: string): string =>
      colour && text !== '' ? `\u001b[${code}m${text}\u001b[0m` : text;
  return { bold: style(1), dim: style(2), red: style(31), green: style(32), yellow: style(33), cyan: style(36) };
}

/** Only for eyes, and for nobody who asked for none: https://no-color.org. */
export function wantsColour({ stdout, env }: { readonly stdout: object; readonly env: NodeJS.ProcessEnv }): boolean {
  const isTerminal = (stdout as { readonly isTTY?: boolean }).isTTY === true;
  return isTerminal && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
}
