/**
 * Reduces source text to code: comments are removed, regular expressions and template texts are empty, and a string literal is
 * `"<its number>"`. So `process.` in a comment does not count, and `${Date.now()}` in a template does.
 */
export interface SourceText {
  readonly code: string;
  readonly strings: readonly string[];
}

export function readSource(text: string): SourceText {
  let code = '';
  const strings: string[] = [];
  /** For each open `${`, the number of open braces inside it. */
  const templates: number[] = [];
  let at = 0;

  const skipTemplateText = (): void => {
    while (at < text.length && text[at] !== '`' && !text.startsWith('${', at)) at += text[at] === '\\' ? 2 : 1;
    if (text[at] === '`') {
      at += 1;
      code += '`';
    } else {
      at += 2;
      code += '${';
      templates.push(0);
    }
  };

  while (at < text.length) {
    const character = text.charAt(at);
    if (text.startsWith('//', at)) at = endOr(text, text.indexOf('\n', at));
    else if (text.startsWith('/*', at)) {
      at = endOr(text, text.indexOf('*/', at + 2) + 1) + 1;
      code += ' ';
    } else if (character === '"' || character === "'") {
      const end = endOfString(text, at);
      code += `"${strings.length}"`;
      strings.push(text.slice(at + 1, end));
      at = end + 1;
    } else if (character === '/' && beginsRegularExpression(code)) {
      at = endOfRegularExpression(text, at) + 1;
      code += '/ /';
    } else if (character === '`') {
      at += 1;
      code += '`';
      skipTemplateText();
    } else {
      at += 1;
      code += character;
      const depth = templates.at(-1);
      if (depth === undefined) continue;
      if (character === '{') templates[templates.length - 1] = depth + 1;
      if (character === '}' && depth > 0) templates[templates.length - 1] = depth - 1;
      if (character === '}' && depth === 0) {
        templates.pop();
        skipTemplateText();
      }
    }
  }
  return { code, strings };
}

function endOr(text: string, index: number): number {
  return index <= 0 ? text.length : index;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== text[start]) at += text[at] === '\\' ? 2 : 1;
  return at;
}

/** A slash after a value is a division; any other slash starts a regular expression. */
function beginsRegularExpression(before: string): boolean {
  const word = /[\w$]+\s*$/.exec(before)?.[0].trim();
  if (word !== undefined)
    return ['return', 'typeof', 'case', 'in', 'of', 'void', 'throw', 'await', 'yield'].includes(word);
  return !/[)\]}"`]\s*$/.test(before);
}

function endOfRegularExpression(text: string, start: number): number {
  let inClass = false;
  for (let at = start + 1; at < text.length; at++) {
    const character = text[at];
    if (character === '\\') at += 1;
    else if (character === '[') inClass = true;
    else if (character === ']') inClass = false;
    else if (character === '/' && !inClass) return at;
    else if (character === '\n') return at;
  }
  return text.length;
}
