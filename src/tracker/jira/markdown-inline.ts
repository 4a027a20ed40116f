/** A text within a line of Atlassian Document Format, or a break of the line. */
export interface AdfInline {
  readonly type: 'text' | 'hardBreak';
  readonly text?: string;
  readonly marks?: readonly AdfMark[];
}

interface AdfMark {
  readonly type: 'strong' | 'code' | 'link';
  readonly attrs?: { readonly href: string };
}

/** Code, strong text and links; everything else stays as it is written. Line breaks are kept. */
export function inlineToAdf(markdown: string, marks: readonly AdfMark[] = []): readonly AdfInline[] {
  return markdown.split('\n').flatMap((line, n) => [...(n === 0 ? [] : [BREAK]), ...lineToAdf(line, marks)]);
}

const BREAK: AdfInline = { type: 'hardBreak' };

function lineToAdf(line: string, marks: readonly AdfMark[]): readonly AdfInline[] {
  const parts: AdfInline[] = [];
  let plain = '';
  const flush = () => {
    parts.push(...textNode(plain, marks));
    plain = '';
  };
  for (let at = 0; at < line.length; ) {
    const found = spanAt(line, at, marks);
    if (found === null || found.nodes === null) {
      const end = found?.end ?? at + 1;
      plain += line.slice(at, end);
      at = end;
      continue;
    }
    flush();
    for (const node of found.nodes) parts.push(node);
    at = found.end;
  }
  flush();
  return parts;
}

interface Span {
  /** `null`: up to its end it is what is written. */
  readonly nodes: readonly AdfInline[] | null;
  readonly end: number;
}

function spanAt(line: string, at: number, marks: readonly AdfMark[]): Span | null {
  const has = (type: AdfMark['type']) => marks.some((mark) => mark.type === type);
  const character = line.charAt(at);
  if (character === '`') return codeAt(line, at, marks);
  if (character === '*' && !has('strong')) return strongAt(line, at, marks);
  if (character === '[' && !has('link')) return linkAt(line, at, marks);
  if (character === 'h' && !has('link')) return addressAt(line, at, marks);
  return null;
}

/** A run of backticks, up to the next run of the same length. Jira takes no other mark beside code than a link. */
function codeAt(line: string, at: number, marks: readonly AdfMark[]): Span | null {
  // Before this one there would have been a longer run.
  if (line.charAt(at - 1) === '`') return null;
  const fence = /^`+/.exec(line.slice(at, at + 20))?.[0] ?? '`';
  let end = line.indexOf(fence, at + fence.length);
  while (end !== -1 && (line.charAt(end + fence.length) === '`' || line.charAt(end - 1) === '`')) {
    while (line.charAt(end) === '`') end++;
    end = line.indexOf(fence, end);
  }
  if (end === -1) return null;
  const inner = line.slice(at + fence.length, end);
  // Blanks beside the fence are there for the sake of backticks in the code.
  const isPadded = inner.includes('`') && inner.startsWith(' ') && inner.endsWith(' ');
  const code = isPadded ? inner.slice(1, -1) : inner;
  const links = marks.filter(({ type }) => type === 'link');
  return { nodes: textNode(code, [...links, { type: 'code' }]), end: end + fence.length };
}

function strongAt(line: string, at: number, marks: readonly AdfMark[]): Span | null {
  if (!line.startsWith('**', at)) return null;
  const end = line.indexOf('**', at + 2);
  const inner = end === -1 ? '' : line.slice(at + 2, end);
  if (inner === '' || inner.trim() !== inner) return null;
  return { nodes: lineToAdf(inner, [...marks, { type: 'strong' }]), end: end + 2 };
}

/** Ends at the next bracket, so that a line of nothing but brackets costs no more than its length. */
const LINK = /\[([^[\]]+)\]\(((?:[^\s()<>]|\([^\s()<>]*\))+)\)/y;

function linkAt(line: string, at: number, marks: readonly AdfMark[]): Span | null {
  LINK.lastIndex = at;
  const [whole = '', inner = '', written = ''] = LINK.exec(line) ?? [];
  const href = hrefOf(written);
  if (href === null) return null;
  return { nodes: lineToAdf(inner, [...marks, { type: 'link', attrs: { href } }]), end: at + whole.length };
}

/**
 * An address that nobody made a link of: Jira would not either. What looks like one and is none is passed over as a whole: it would be looked at again
 * from each of its `http://`.
 */
function addressAt(line: string, at: number, marks: readonly AdfMark[]): Span | null {
  if (/\w/.test(line.charAt(at - 1)) || !/^https?:\/\//.test(line.slice(at, at + 8))) return null;
  const whole = /^[^\s<>"'`*|\\^{}[\]()]+/.exec(line.slice(at, at + 2_000))?.[0] ?? '';
  const written = withoutPoints(whole);
  const href = hrefOf(written);
  if (href === null) return { nodes: null, end: at + whole.length };
  return { nodes: textNode(written, [...marks, { type: 'link', attrs: { href } }]), end: at + written.length };
}

/** Points at the end belong to the sentence. */
function withoutPoints(text: string): string {
  let end = text.length;
  while (end > 0 && '.,;:!?'.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

function hrefOf(written: string): string | null {
  const isGood = /^(?:https?:\/\/|mailto:)[^\s<>"]+$/i.test(written) && URL.canParse(written);
  return isGood ? written : null;
}

/** Jira refuses texts that are empty. */
function textNode(text: string, marks: readonly AdfMark[]): readonly AdfInline[] {
  if (text === '') return [];
  return [marks.length === 0 ? { type: 'text', text } : { type: 'text', text, marks }];
}
