export type OperationKind = 'query' | 'mutation' | 'subscription';

/**
 * The kinds of operation in a GraphQL document, or what is wrong with it. It is read only as far as that takes: comments and
 * texts are skipped exactly as the language has them, so that nothing can hide in them, and whatever is not understood is refused.
 */
export function operationsIn(document: string): readonly OperationKind[] | string {
  const tokens = tokensOf(document);
  if (tokens === null) return 'query holds a text that does not end, or characters that GraphQL does not have';
  const kinds: OperationKind[] = [];
  let at = 0;
  while (at < tokens.length) {
    const word = tokens[at] ?? '';
    if (word === '{') kinds.push('query');
    else if (isKind(word)) kinds.push(word);
    else if (word !== 'fragment') return `query holds ${JSON.stringify(word)} where an operation should begin`;
    const end = endOfDefinition(tokens, at);
    if (end === null) return 'query holds brackets that do not close';
    at = end;
  }
  return kinds;
}

const PAIRS: { readonly [open: string]: string } = { '{': '}', '(': ')', '[': ']' };

/** After the selection in braces that ends the definition. Braces inside of parentheses are values. */
function endOfDefinition(tokens: readonly string[], start: number): number | null {
  const open: string[] = [];
  for (let at = start; at < tokens.length; at++) {
    const token = tokens[at] ?? '';
    const close = PAIRS[token];
    if (close !== undefined) open.push(close);
    else if (token === '}' || token === ')' || token === ']') {
      if (open.pop() !== token) return null;
      if (open.length === 0 && token === '}') return at + 1;
    }
  }
  return null;
}

const IGNORED = /(?:[\uFEFF \t\n\r,]|#[^\n\r]*)+/y;
const BLOCK_TEXT = /"""(?:\\"""|[^"\\]|\\(?!""")|"(?!""))*"""/y;
const TEXT = /"(?:[^"\\\n\r]|\\[^\n\r])*"/y;
const WORD = /\.\.\.|[A-Za-z_][A-Za-z0-9_]*|-?[0-9][A-Za-z0-9_.+-]*|[!$&():=@[\]{|}]/y;

/** Words and signs; texts are left out. `null`: it cannot be read. */
function tokensOf(document: string): readonly string[] | null {
  const tokens: string[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const [found = null] = pattern.exec(document) ?? [];
    if (found !== null) at += found.length;
    return found;
  };
  while (at < document.length) {
    if (take(IGNORED) !== null) continue;
    if (document.startsWith('"""', at)) {
      if (take(BLOCK_TEXT) === null) return null;
    } else if (document[at] === '"') {
      if (take(TEXT) === null) return null;
    } else {
      const word = take(WORD);
      if (word === null) return null;
      tokens.push(word);
    }
  }
  return tokens;
}

function isKind(word: string): word is OperationKind {
  return word === 'query' || word === 'mutation' || word === 'subscription';
}
