import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ERRORS } from '../../src/domain/error-table.js';

const ERRORS_PAGE = fileURLToPath(new URL('../../docs/errors.md', import.meta.url));

/** The first cells of all tables with the first column "code". */
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

const codes = documentedCodes(readFileSync(ERRORS_PAGE, 'utf8'));

test('docs/errors.md lists every error code', () => {
  expect(Object.keys(ERRORS).filter((code) => !codes.includes(code))).toEqual([]);
});

test('every error code in docs/errors.md exists and is listed once', () => {
  expect(codes.filter((code) => !(code in ERRORS))).toEqual([]);
  expect(codes).toEqual([...new Set(codes)]);
});

test('only tables of codes are read', () => {
  const markdown =
    '| code | what |\n|---|---|\n| `a_b` | x |\n| `c` | y |\n\n| key | default |\n|---|---|\n| `port` | 1 |\n';

  expect(documentedCodes(markdown)).toEqual(['a_b', 'c']);
});
