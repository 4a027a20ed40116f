/** An identifier as the last part of a shell command; after `--` when it would be taken for a flag. */
export function lastWord(identifier: string): string {
  return `${identifier.startsWith('-') ? '-- ' : ''}${shellWord(identifier)}`;
}

/** Quotes a text as one word of a shell command, if it needs quotes. Users copy printed commands. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
