import { neutralise, neutraliseLines } from '../text/neutralise.js';

/**
 * Text of issues and agents, made fit for people. For chats that read it as Slack or as Markdown nothing in it may be a mention, a link under
 * another name or a tag: `<!channel>` is escaped, as Slack wants it, and an invisible space keeps `@here` and `[text](url)` apart,
 * which others would act on.
 */
export interface Cleaner {
  /** Takes known secrets out. First of all: cut, escaped or in two halves they would not be found any more. */
  mask(text: string): string;
}

const GAP = '\u200b';

/** One line of plain text. */
export function plainLine(text: string, maxLength: number, { mask }: Cleaner): string {
  const oneLine = mask(text).replace(/\s+/g, ' ').trim();
  return cut(neutralise(oneLine), maxLength);
}

/** Plain text that may have several lines. */
export function plainLines(text: string, maxLength: number, { mask }: Cleaner): string {
  return cut(neutraliseLines(mask(text).replace(/\r\n?/g, '\n')).trim(), maxLength);
}

/** For chats: of a text that is plain already. */
export function chatText(plain: string): string {
  const escaped = plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped.replace(/@(?=[\p{L}\p{N}_])/gu, `@${GAP}`).replaceAll('](', `]${GAP}(`);
}

/** The same as a quotation, so that no line of it passes for one of ours. */
export function chatQuote(plain: string, maxLines: number): string {
  const lines = plain.split('\n').filter((line) => line.trim() !== '');
  const shown = lines.length > maxLines ? [...lines.slice(0, maxLines), '…'] : lines;
  return shown.map((line) => `> ${chatText(line)}`).join('\n');
}

/** Shortened, and never through a character; for an escaped text never through an escape either. */
export function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const kept = text.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '');
  return `${kept.replace(/&[a-z]{0,4}$/, '')}…`;
}

/** A link to follow, or nothing: the address of an issue is text of the tracker. */
export function webAddress(url: string | null): string | null {
  if (url === null || !URL.canParse(url)) return null;
  const { protocol, href } = new URL(url);
  return protocol === 'http:' || protocol === 'https:' ? href : null;
}
