import { neutralise } from '../../text/neutralise.js';

/** Text of issues and agents for the page: control and bidirectional characters are escaped. The renderer creates text nodes, never markup. */
export function shownLine(text: string): string {
  return neutralise(text.replace(/\s+/gu, ' ').trim());
}

/** For several lines; tabs stay, because code is indented with them. */
export function shownLines(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => line.split('\t').map(neutralise).join('\t'))
    .join('\n');
}

/** An address that may become a link, or `null`. */
export function linkAddress(url: string | null): string | null {
  if (url === null || !/^https?:\/\//i.test(url)) return null;
  try {
    const { protocol, href } = new URL(url);
    return protocol === 'http:' || protocol === 'https:' ? href : null;
  } catch {
    return null;
  }
}

export interface TextPart {
  readonly kind: 'words' | 'time' | 'code';
  /** A time in UTC, ISO 8601; code without its backticks. */
  readonly text: string;
}

/** Splits a sentence of the daemon: times are shown in local time, text in backticks as code. */
export function sentenceParts(sentence: string): TextPart[] {
  const parts: TextPart[] = [];
  let from = 0;
  for (const { 0: found, 1: code, index } of sentence.matchAll(PARTS)) {
    if (index > from) parts.push({ kind: 'words', text: sentence.slice(from, index) });
    parts.push(code === undefined ? { kind: 'time', text: found } : { kind: 'code', text: code });
    from = index + found.length;
  }
  if (from < sentence.length) parts.push({ kind: 'words', text: sentence.slice(from) });
  return parts;
}

const PARTS = /`([^`]+)`|\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z/g;
