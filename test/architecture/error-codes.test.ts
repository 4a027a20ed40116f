import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ERRORS } from '../../src/domain/error-table.js';

const README = fileURLToPath(new URL('../../README.md', import.meta.url));

/** First cells of the tables of the README whose first column is called "code". */
function documentedCodes(markdown: string): string[] {
  const rows = markdown.split('\n').map((line) => /^\s*\|\s*([^|]*?)\s*\|/.exec(line)?.[1] ?? null);
  const codes: string[] = [];
  let isCodeTable = false;
  for (const [index, cell] of rows.entries()) {
    if (cell === null) isCodeTable = false;
    else if (rows[index - 1] === null || index === 0) isCodeTable = /^`?(?:error )?code`?$/i.test(cell);
    else if (isCodeTable && !/^:?-+:?$/.test(cell)) codes.push(cell.replaceAll('`', ''));
  }
  return codes;
}

const codes = existsSync(README) ? documentedCodes(readFileSync(README, 'utf8')) : [];

test('every error code is in the README, in a table whose first column is "code"', () => {
  expect(Object.keys(ERRORS).filter((code) => !codes.includes(code))).toEqual([]);
});

test('every error code in the README exists, and is there once', () => {
  expect(codes.filter((code) => !(code in ERRORS))).toEqual([]);
  expect(codes).toEqual([...new Set(codes)]);
});

test('codes are read from tables of codes only', () => {
  const markdown =
    '| code | what |\n|---|---|\n| `a_b` | x |\n| `c` | y |\n\n| key | default |\n|---|---|\n| `port` | 1 |\n';

  expect(documentedCodes(markdown)).toEqual(['a_b', 'c']);
});
