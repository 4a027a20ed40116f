/** A place where a script asks for a variable and offers nothing in its stead. */
export interface VariableUse {
  readonly name: string;
  readonly line: number;
  readonly column: number;
  /** `${NAME:?…}`: the script ends there without it. */
  readonly isRequired: boolean;
}

export interface ShellVariables {
  readonly uses: readonly VariableUse[];
  /** Names that the script gives a value itself, wherever. */
  readonly assigned: ReadonlySet<string>;
  /** Those of them that programs which it starts get to see. */
  readonly exported: ReadonlySet<string>;
}

const NAME = '[A-Za-z_][A-Za-z0-9_]*';
const PLAIN = new RegExp(`^\\$(${NAME})`);
const BRACED = new RegExp(`^\\$\\{(?:[#!]?)(${NAME})(?:\\[[^\\]]*\\])?(:?[-=?+])?`);
const HERE_DOCUMENT = /^<<(-?)[ \t]*(['"\\]?)([\w.-]+)['"]?/;

/**
 * Which variables a shell script reads. A reader of shell text, not a shell: it knows quotes, comments, here-documents and
 * defaults, and does not know which branch will be taken.
 */
export function shellVariables(script: string): ShellVariables {
  const found: { offset: number; name: string; isRequired: boolean }[] = [];
  walk(script, (offset, rest) => {
    const braced = BRACED.exec(rest);
    const name = (braced ?? PLAIN.exec(rest))?.[1];
    const operator = braced?.[2]?.at(-1);
    if (name === undefined || operator === '-' || operator === '=' || operator === '+') return;
    found.push({ offset, name, isRequired: operator === '?' });
  });
  const assigned = assignedIn(script);
  const uses = found.map(({ offset, name, isRequired }) => ({ name, isRequired, ...placeOf(script, offset) }));
  return { uses, assigned, exported: ALL_EXPORTED.test(script) ? assigned : exportedIn(script) };
}

/** Calls back at every `$` that the shell would expand. */
function walk(script: string, onDollar: (offset: number, rest: string) => void): void {
  const open: ('"' | '(')[] = [];
  const documents: { readonly end: string; readonly isQuoted: boolean; readonly isIndented: boolean }[] = [];
  for (let at = 0; at < script.length; at++) {
    const character = script.charAt(at);
    const isQuoted = open.at(-1) === '"';
    if (character === '\\') at += 1;
    else if (character === '"') {
      if (isQuoted) open.pop();
      else open.push('"');
    } else if (!isQuoted && character === "'") {
      at = endOfQuote(script, at + 1, script.charAt(at - 1) === '$');
    } else if (!isQuoted && character === '#' && /^$|[\s;&|(]/.test(script.charAt(at - 1))) {
      at = lineEnd(script, at) - 1;
    } else if (character === '$') {
      onDollar(at, script.slice(at, at + 300));
      const next = script.charAt(at + 1);
      if (next === '(') open.push('(');
      if (next === '(' || next === '$') at += 1;
    } else if (!isQuoted && character === '(') open.push('(');
    else if (character === ')' && open.at(-1) === '(') open.pop();
    else if (!isQuoted && script.startsWith('<<<', at)) at += 2;
    else if (!isQuoted && character === '<') {
      const [text = '', dash, quote, end] = HERE_DOCUMENT.exec(script.slice(at, at + 100)) ?? [];
      if (end !== undefined) documents.push({ end, isQuoted: quote !== '', isIndented: dash === '-' });
      at += Math.max(0, text.length - 1);
    } else if (character === '\n') {
      for (const document of documents.splice(0)) at = skipDocument(script, at + 1, document, onDollar);
    }
  }
}

function skipDocument(
  script: string,
  start: number,
  { end, isQuoted, isIndented }: { readonly end: string; readonly isQuoted: boolean; readonly isIndented: boolean },
  onDollar: (offset: number, rest: string) => void,
): number {
  let at = start;
  while (at < script.length) {
    const stop = lineEnd(script, at);
    const line = script.slice(at, stop);
    if ((isIndented ? line.replace(/^\t+/, '') : line) === end) return stop;
    if (!isQuoted) {
      for (const { index } of line.matchAll(/(?<!\\)\$/g)) onDollar(at + index, line.slice(index));
    }
    at = stop + 1;
  }
  return at;
}

const ASSIGNMENTS = [
  new RegExp(`(?:^|[\\s;&|({])(${NAME})(?:\\[[^\\]]*\\])?\\+?=`, 'gm'),
  new RegExp(`\\$\\{(${NAME}):?=`, 'g'),
  new RegExp(`\\b(?:for|select)\\s+(${NAME})\\b`, 'g'),
  new RegExp(`\\bprintf\\s+-v\\s+(${NAME})\\b`, 'g'),
  new RegExp(`\\bgetopts\\s+\\S+\\s+(${NAME})\\b`, 'g'),
];
const ASSIGNING_COMMANDS = /\b(?:read|mapfile|readarray|local|declare|typeset)\b([^\n;|&<]*)/g;

function assignedIn(script: string): Set<string> {
  const names = new Set<string>();
  for (const pattern of ASSIGNMENTS) for (const [, name] of script.matchAll(pattern)) names.add(name ?? '');
  for (const [, words = ''] of script.matchAll(ASSIGNING_COMMANDS)) {
    for (const word of words.split(/\s+/)) if (new RegExp(`^${NAME}$`).test(word)) names.add(word);
  }
  return names;
}

const EXPORTING_COMMANDS = /\b(?:export|(?:declare|typeset)\s+-\w*x\w*)\b([^\n;&|]*)/g;
/** `NAME=value program` */
const BEFORE_A_PROGRAM = new RegExp(
  `(?:^|[\\s;&|(])(${NAME})=(?:"[^"]*"|'[^']*'|[^\\s;&|"'])*(?=[ \\t]+[^\\s;&|#)])`,
  'gm',
);
/** `set -a`, or a ready-made script that is sourced: it sees what the hook sees. */
const ALL_EXPORTED = /\bset\s+(?:-\w*a|-o\s+allexport)\b|(?:^|[\s;&|])(?:\.|source)\s+["']?\$\{?BATON_HOOKS/m;

function exportedIn(script: string): Set<string> {
  const names = new Set<string>();
  for (const [, name] of script.matchAll(BEFORE_A_PROGRAM)) names.add(name ?? '');
  for (const [, words = ''] of script.matchAll(EXPORTING_COMMANDS)) {
    for (const [, name] of words.matchAll(new RegExp(`(?:^|\\s)(${NAME})(?==|\\s|$)`, 'g'))) names.add(name ?? '');
  }
  return names;
}

function endOfQuote(script: string, start: number, hasEscapes: boolean): number {
  let at = start;
  while (at < script.length && script.charAt(at) !== "'") at += hasEscapes && script.charAt(at) === '\\' ? 2 : 1;
  return at;
}

function lineEnd(script: string, from: number): number {
  const end = script.indexOf('\n', from);
  return end === -1 ? script.length : end;
}

function placeOf(script: string, offset: number): { line: number; column: number } {
  const before = script.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
