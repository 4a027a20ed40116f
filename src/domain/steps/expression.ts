import { BatonError } from '../errors.js';
import { assertNever, type Json } from '../json.js';
import { lookUp, parseText, SCOPE_ROOTS, type Scope, type Token } from './tokens.js';

/** `when` and `break_when`: comparisons of data with `and`, `or`, `not` and parentheses. No calls, no arithmetic. */
export type Expression =
  | { readonly type: 'literal'; readonly value: Json }
  | { readonly type: 'token'; readonly token: Token }
  | { readonly type: 'not'; readonly of: Expression }
  | { readonly type: 'and' | 'or'; readonly left: Expression; readonly right: Expression }
  | { readonly type: 'compare'; readonly operator: Operator; readonly left: Expression; readonly right: Expression };

const OPERATORS = ['==', '!=', '<=', '>=', '<', '>'] as const;
type Operator = (typeof OPERATORS)[number];

const MAX_LENGTH = 2_000;
const MAX_DEPTH = 50;

/** Throws `expression_error`, or `step_data_error` for a malformed token. */
export function parseExpression(text: string): Expression {
  if (text.length > MAX_LENGTH) throw fault(text, `is longer than ${MAX_LENGTH} characters`);
  const reader = new Reader(text);
  const expression = reader.or(0);
  if (!reader.isAtEnd) throw fault(text, `has ${reader.rest()} where and, or, a comparison or the end should be`);
  return expression;
}

export function tokensOf(expression: Expression): Token[] {
  switch (expression.type) {
    case 'literal':
      return [];
    case 'token':
      return [expression.token];
    case 'not':
      return tokensOf(expression.of);
    case 'and':
    case 'or':
    case 'compare':
      return [...tokensOf(expression.left), ...tokensOf(expression.right)];
    default:
      return assertNever(expression);
  }
}

/** Evaluates an expression. A result that is not a boolean is an error, never "false". Throws `expression_error`, `step_data_error`. */
export function holds(text: string, scope: Scope): boolean {
  const isTrue = (expression: Expression): boolean => {
    const value = resultOf(expression);
    if (typeof value === 'boolean') return value;
    throw fault(text, `needs true or false, but ${nameOf(expression)} is ${kindOf(value)}; compare it with something`);
  };
  const resultOf = (expression: Expression): Json => {
    switch (expression.type) {
      case 'literal':
        return expression.value;
      case 'token':
        return lookUp(expression.token, scope);
      case 'not':
        return !isTrue(expression.of);
      case 'and':
        return isTrue(expression.left) && isTrue(expression.right);
      case 'or':
        return isTrue(expression.left) || isTrue(expression.right);
      case 'compare':
        return compare(expression.operator, resultOf(expression.left), resultOf(expression.right), text);
      default:
        return assertNever(expression);
    }
  };
  return isTrue(parseExpression(text));
}

function compare(operator: Operator, left: Json, right: Json, text: string): boolean {
  if (operator === '==') return isSame(left, right);
  if (operator === '!=') return !isSame(left, right);
  const areNumbers = typeof left === 'number' && typeof right === 'number';
  if (!areNumbers && !(typeof left === 'string' && typeof right === 'string'))
    throw fault(text, `cannot put ${kindOf(left)} and ${kindOf(right)} in order with ${operator}`);
  if (operator === '<') return left < right;
  if (operator === '>') return left > right;
  return operator === '<=' ? left <= right : left >= right;
}

/** Compares by content. The order of keys does not matter; types do: 1 is not "1". */
function isSame(left: Json, right: Json): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const [a, b] = [left, right] as { readonly [key: string]: Json }[];
  const keys = Object.keys(a ?? {});
  if (keys.length !== Object.keys(b ?? {}).length) return false;
  return keys.every((key) => Object.hasOwn(b ?? {}, key) && isSame(a?.[key] as Json, b?.[key] as Json));
}

type Piece = { readonly type: 'word'; readonly text: string } | { readonly type: 'value'; readonly of: Expression };

class Reader {
  readonly #pieces: readonly Piece[];
  #at = 0;

  constructor(readonly text: string) {
    this.#pieces = piecesOf(text);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#pieces.length;
  }

  rest(): string {
    const piece = this.#pieces[this.#at];
    return piece === undefined ? 'nothing' : piece.type === 'word' ? piece.text : nameOf(piece.of);
  }

  or(depth: number): Expression {
    let left = this.#and(depth);
    while (this.#takes('or')) left = { type: 'or', left, right: this.#and(depth) };
    return left;
  }

  #and(depth: number): Expression {
    let left = this.#not(depth);
    while (this.#takes('and')) left = { type: 'and', left, right: this.#not(depth) };
    return left;
  }

  #not(depth: number): Expression {
    if (depth > MAX_DEPTH) throw fault(this.text, `is nested more than ${MAX_DEPTH} levels deep`);
    if (this.#takes('not')) return { type: 'not', of: this.#not(depth + 1) };
    const left = this.#operand(depth);
    const operator = OPERATORS.find((one) => this.#takes(one));
    return operator ? { type: 'compare', operator, left, right: this.#operand(depth) } : left;
  }

  #operand(depth: number): Expression {
    if (depth > MAX_DEPTH) throw fault(this.text, `is nested more than ${MAX_DEPTH} levels deep`);
    if (this.#takes('(')) {
      const inner = this.or(depth + 1);
      if (!this.#takes(')')) throw fault(this.text, `has ${this.rest()} where ) should be`);
      return inner;
    }
    const piece = this.#pieces[this.#at];
    if (piece?.type !== 'value') throw fault(this.text, `has ${this.rest()} where a value should be`);
    this.#at += 1;
    return piece.of;
  }

  #takes(word: string): boolean {
    const piece = this.#pieces[this.#at];
    const isIt = piece?.type === 'word' && piece.text === word;
    if (isIt) this.#at += 1;
    return isIt;
  }
}

const PIECE =
  /\s*(?:(\$\{[^{}$]*\})|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])|'((?:[^'\\]|\\[\s\S])*)'|"((?:[^"\\]|\\[\s\S])*)"|(true|false|null)\b|(and|or|not)\b|(==|!=|<=|>=|<|>|\(|\)))/y;

function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  const pattern = new RegExp(PIECE.source, 'y');
  const end = text.trimEnd().length;
  while (pattern.lastIndex < end) {
    const from = pattern.lastIndex;
    const match = pattern.exec(text);
    if (!match) throw fault(text, `cannot be read at ${JSON.stringify(text.slice(from, end).trim().slice(0, 20))}`);
    pieces.push(pieceOf(match, text));
  }
  if (pieces.length === 0) throw fault(text, 'is empty');
  return pieces;
}

function pieceOf([, token, number, single, double, constant, word, sign]: RegExpExecArray, text: string): Piece {
  const literal = (value: Json): Piece => ({ type: 'value', of: { type: 'literal', value } });
  if (token !== undefined) {
    const [part] = parseText(token);
    if (part === undefined || typeof part === 'string')
      throw fault(text, `names ${token}; data begins with one of ${SCOPE_ROOTS.join(', ')}`);
    return { type: 'value', of: { type: 'token', token: part } };
  }
  if (number !== undefined) {
    if (!Number.isFinite(Number(number))) throw fault(text, 'has a number that is too large');
    return literal(Number(number));
  }
  const quoted = single ?? double;
  if (quoted !== undefined) return literal(unquoted(quoted, text));
  if (constant !== undefined) return literal(constant === 'null' ? null : constant === 'true');
  return { type: 'word', text: word ?? sign ?? '' };
}

const ESCAPES: { readonly [letter: string]: string } = { '\\': '\\', "'": "'", '"': '"', n: '\n', t: '\t' };

/** Rejects a token in quotes: it would not be filled in, and the comparison would silently be false. */
function unquoted(quoted: string, text: string): string {
  const plain = quoted.replace(/\\([\s\S])/g, (_, letter: string) => {
    const meant = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
    if (meant !== undefined) return meant;
    throw fault(text, `has a backslash before ${JSON.stringify(letter)}; a backslash itself is written \\\\`);
  });
  const parts = parseText(plain);
  const token = parts.find((part) => typeof part !== 'string');
  if (token !== undefined) throw fault(text, `has ${token.text} in quotes; write it without them`);
  return parts.join('');
}

function nameOf(expression: Expression): string {
  if (expression.type === 'token') return expression.token.text;
  return expression.type === 'literal' ? JSON.stringify(expression.value) : 'a part of it';
}

function kindOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'a map' : typeof value === 'string' ? 'text' : `a ${typeof value}`;
}

function fault(text: string, what: string): BatonError {
  const shown = text.length > 100 ? `${text.slice(0, 97)}…` : text;
  return new BatonError('expression_error', `the expression ${JSON.stringify(shown)} ${what}`);
}
