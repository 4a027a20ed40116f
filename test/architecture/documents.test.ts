import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { PARK_REASONS } from '../../src/domain/claim.js';
import type { ErrorScope } from '../../src/domain/error-table.js';
import { ERRORS } from '../../src/domain/error-table.js';
import { RUNTIME_EVENT_TYPES } from '../../src/domain/run-signal.js';
import { SETTINGS, type Setting } from '../../src/workflow/schema.js';
import { compilePrompt } from '../../templates/render-prompt.js';
import { issue } from '../support/builders.js';
import { load, writeWorkflow } from '../workflow/workflow-fixture.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDERS = ['.', 'docs', 'hooks', 'orchestrator', 'runner', 'src', 'src/store', 'src/tracker', 'templates'];
const DOCUMENTS = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);

const textOf = (document: string) => readFileSync(join(ROOT, document), 'utf8');

/** The cells of every table row, without code marks and escapes. */
const rowsOf = (markdown: string) =>
  markdown
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

const wordsOf = (cell = '') => Array.from(cell.matchAll(/`([^`]+)`/g), ([, word]) => word ?? '');

/** Complete workflows in the documents. */
const EXAMPLES: [string, string][] = DOCUMENTS.flatMap((document) => {
  const blocks = Array.from(textOf(document).matchAll(/^```\w*\n(---\n[\s\S]*?)^```$/gm), ([, text]) => text ?? '');
  return blocks.map((text): [string, string] => [document, text]);
});

describe('examples and links in the documents', () => {
  test.each([['WORKFLOW.md', textOf('WORKFLOW.md')], ...EXAMPLES])(
    'the workflow in %s loads without a warning, and its prompt renders',
    async (_, text) => {
      const { workflow } = await load(writeWorkflow(text), { LINEAR_API_KEY: 'x' });

      const prompt = compilePrompt(workflow.prompt).render({
        issue: issue(),
        attempt: 1,
        run: { id: 'r', number: 1, reason: 'retry', workspace: '/w' },
        workflow: { path: '/p/WORKFLOW.md', dir: '/p' },
      });
      expect(workflow.warnings).toEqual([]);
      expect(prompt).toContain('AB-1');
    },
  );

  test('the README and docs/workflow.md contain examples', () => {
    expect(EXAMPLES.map(([document]) => document)).toEqual(expect.arrayContaining(['README.md', 'docs/workflow.md']));
  });

  test.each(DOCUMENTS)('every link of %s points to an existing file', (document) => {
    const links = Array.from(textOf(document).matchAll(/\]\(([^)#]+)[^)]*\)/g), ([, link]) => link ?? '');

    const dead = links.filter((link) => !link.includes('://') && !existsSync(join(ROOT, dirname(document), link)));
    expect(dead).toEqual([]);
  });

  test.each(DOCUMENTS)('%s contains no path of a specific machine', (document) => {
    expect(textOf(document)).not.toMatch(/(?<![\w.$}])\/(?:tmp|work|root|home)\/|https?:\/\/registry|localhost:\d/);
  });
});

describe('lists in the documents are complete and correct', () => {
  test('docs/settings.md has a row for every setting, derived from its declaration', () => {
    const rows = textOf('docs/settings.md').split('\n');

    expect(SETTINGS.length).toBeGreaterThan(35);
    expect(SETTINGS.map(settingRow).filter((row) => !rows.includes(row))).toEqual([]);
  });

  test('docs/errors.md describes each error as the error table does', () => {
    const [errors = ''] = textOf('docs/errors.md').split('## Parked issues');
    const rows = new Map(rowsOf(errors).map(([code = '', ...rest]) => [wordsOf(code)[0], rest]));

    for (const [code, { scope, text, action }] of Object.entries(ERRORS)) {
      expect(rows.get(code), code).toEqual([text, CONSEQUENCES[scope], action]);
    }
  });

  test('docs/errors.md lists every reason for parking an issue', () => {
    const [, parked = ''] = textOf('docs/errors.md').split('## Parked issues');
    const rows = rowsOf(parked).map(([reason = '']) => wordsOf(reason)[0]);

    expect(PARK_REASONS.filter((reason) => !rows.includes(reason))).toEqual([]);
  });

  test('S2-59 S2-62 docs/codex.md lists every event and the answer to every request', () => {
    const text = textOf('docs/codex.md');
    const types = rowsOf(text).flatMap(([first]) => wordsOf(first));

    expect(RUNTIME_EVENT_TYPES.filter((type) => !types.includes(type))).toEqual([]);
    for (const answer of ['accept', 'decline', 'ask']) expect(text).toContain(`\`${answer}\``);
  });
});

test('docs/operations.md lists only existing log messages, each with its level', () => {
  const rows = rowsOf(textOf('docs/operations.md')).filter(([level = '']) => /^(fatal|error|warn)$/.test(level));
  const sources = ['src', 'runner', 'orchestrator'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(ROOT, folder, name), 'utf8')),
  );

  const unknown = rows.filter(([level, message]) => {
    const [text = ''] = wordsOf(message);
    const quoted = text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const isWritten = new RegExp(`(?:${level}|warned|log)\\b[^;]{0,300}'${quoted}'`, 's');
    return !sources.some((source) => isWritten.test(source));
  });
  expect(rows.length).toBeGreaterThan(15);
  expect(unknown).toEqual([]);
});

const CONSEQUENCES: { readonly [scope in ErrorScope]: string } = {
  issue: 'issue: backs off, retries',
  daemon: 'daemon: holds',
  park: 'parks the issue',
  none: 'no failure',
};

function settingRow({ key, description, default: fallback, defaultText, unit, whenIdle, security }: Setting): string {
  const value = typeof fallback === 'object' && !Array.isArray(fallback) ? '{}' : `${fallback}`;
  const shown = Array.isArray(fallback) ? `[${fallback.join(', ')}]` : value;
  const number = `${shown}${unit === undefined ? '' : ` ${unit}`}`;
  const written = fallback === null ? 'none' : typeof fallback === 'number' ? number : `\`${shown}\``;
  const change = [...(security ? ['allow'] : []), ...(whenIdle ? ['idle'] : [])].join(', ');
  return `| \`${key}\` | ${defaultText ?? written} | ${description} | ${change} |`;
}

test('the lock file contains no download addresses', () => {
  expect(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).not.toMatch(/"resolved"|https?:\/\/registry/);
});

test('every package in the lock file has an integrity hash, also those for other platforms', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const installed = Object.entries<{ integrity?: string; link?: boolean }>(packages).filter(([path]) => path !== '');

  const without = installed.filter(([, { integrity, link }]) => !link && !integrity?.startsWith('sha512-'));

  expect(installed.length).toBeGreaterThan(100);
  expect(without.map(([path]) => path)).toEqual([]);
});
