/** Invalid JQL, with Jira's error message. */
export class JqlError extends Error {}

export type Test<Item> = (item: Item) => boolean;

/** Evaluates one clause for a field and its values. */
export type FieldTest<Item> = (values: readonly string[]) => Test<Item>;

interface Token {
  readonly kind: 'word' | 'text' | 'sign' | 'end';
  readonly value: string;
}

/** The subset of JQL that tests need: AND, OR, NOT, parentheses, `=`, `!=`, `in` and one ORDER BY. */
export function parseJql<Item>(jql: string, fields: ReadonlyMap<string, FieldTest<Item>>): Test<Item> {
  const tokens = [...tokensOf(jql)];
  let at = 0;
  const peek = () => tokens[at] ?? { kind: 'end', value: '' };
  const take = () => {
    const token = peek();
    at++;
    return token;
  };
  const took = (word: string) => {
    const isThere = peek().kind !== 'text' && peek().value.toLowerCase() === word;
    if (isThere) at++;
    return isThere;
  };
  const need = (sign: string) => {
    const { kind, value } = take();
    if (kind !== 'sign' || value !== sign) throw new JqlError(`Expecting '${sign}' but got '${value}'.`);
  };
  const value = () => {
    const token = take();
    if (token.kind !== 'word' && token.kind !== 'text') throw new JqlError(`Expecting a value, got '${token.value}'.`);
    return token.value;
  };
  const either = (): Test<Item> => {
    const all = [both()];
    while (took('or')) all.push(both());
    return (item) => all.some((test) => test(item));
  };
  const both = (): Test<Item> => {
    const all = [single()];
    while (took('and')) all.push(single());
    return (item) => all.every((test) => test(item));
  };
  const single = (): Test<Item> => {
    if (took('not')) {
      const test = single();
      return (item) => !test(item);
    }
    if (peek().kind !== 'sign') return clause();
    need('(');
    const test = either();
    need(')');
    return test;
  };
  const clause = (): Test<Item> => {
    const name = value();
    const field = fields.get(name.toLowerCase());
    if (!field) throw new JqlError(`Field '${name}' does not exist or you do not have permission to view it.`);
    if (took('in')) return field(list());
    const operator = take();
    if (operator.kind === 'sign' && operator.value === '=') return field([value()]);
    if (operator.kind !== 'sign' || operator.value !== '!=') throw new JqlError(`Expecting operator at ${name}.`);
    const test = field([value()]);
    return (item) => !test(item);
  };
  const list = () => {
    need('(');
    const values = [value()];
    while (took(',')) values.push(value());
    need(')');
    return values;
  };
  const test = either();
  const order = ['order', 'by', 'created', 'asc'];
  if (peek().kind !== 'end' && !order.every(took)) throw new JqlError('No such order.');
  if (peek().kind !== 'end') throw new JqlError(`Expecting either 'OR' or 'AND' but got '${peek().value}'.`);
  return test;
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

/** Backslashes escape quotation marks and backslashes in a string. */
export function* tokensOf(jql: string): Generator<Token> {
  for (let at = 0; at < jql.length; ) {
    const rest = jql.slice(at);
    const [blank = ''] = /^\s+/.exec(rest) ?? [];
    const [text] = /^"(?:[^"\\\r\n]|\\.)*"|^'(?:[^'\\\r\n]|\\.)*'/.exec(rest) ?? [];
    const [sign] = /^(?:!=|[=(),])/.exec(rest) ?? [];
    const [word] = /^[\w.-]+/.exec(rest) ?? [];
    if (text !== undefined)
      yield {
        kind: 'text',
        value: text.slice(1, -1).replace(/\\(.)/gs, (_, escaped) => ESCAPES.get(escaped) ?? escaped),
      };
    else if (sign !== undefined) yield { kind: 'sign', value: sign };
    else if (word !== undefined) yield { kind: 'word', value: word };
    else if (blank === '') throw new JqlError(`The character '${rest.charAt(0)}' is a reserved JQL character.`);
    at += (text ?? sign ?? word ?? blank).length;
  }
}
