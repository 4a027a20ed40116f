/** Quotes a text as one word of a shell command, if it needs quotes. Users copy printed commands. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
