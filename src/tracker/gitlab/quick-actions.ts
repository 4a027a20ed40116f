/** A line such as `/close` or `/move group/other`: in the text of a note or a description GitLab carries it out. */
const COMMAND = /(^|[\n\u0085\u2028\u2029])([^\S\n\u0085\u2028\u2029]*)(\/[a-z0-9_]+(?!\S))/gi;

/** The text without commands: it looks the same, and does nothing. GitLab drops `\r` before it looks, so that none may be left inside of a word. */
export function withoutQuickActions(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(COMMAND, '$1$2\\$3');
}

/** Whether a text, or any text inside of a value, holds a command. */
export function holdsQuickAction(value: unknown): boolean {
  if (typeof value === 'string') return value.replaceAll('\r', '').search(COMMAND) !== -1;
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some(holdsQuickAction);
}
