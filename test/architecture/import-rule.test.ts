import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { importCycles, violations } from './import-rule.js';
import { readSource } from './source-text.js';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDERS = ['src', 'orchestrator', 'runner', 'hooks', 'templates'];

function sourceFiles(names = /\.ts$/) {
  return FOLDERS.filter((folder) => existsSync(join(PROJECT, folder)))
    .flatMap((folder) =>
      readdirSync(join(PROJECT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((path) => names.test(path))
    .map((path) => ({ path: path.split(sep).join('/'), text: readFileSync(join(PROJECT, path), 'utf8') }));
}

describe('the product', () => {
  test('follows the import rule, keeps the core pure, and names its files correctly', () => {
    const files = sourceFiles();

    expect(files.length).toBeGreaterThan(10);
    expect(violations(files)).toEqual([]);
  });

  test('has no import cycles between files, type imports included', () => {
    expect(importCycles(sourceFiles(/\.tsx?$/))).toEqual([]);
  });
});

describe('import cycles', () => {
  const cycles = (imports: { readonly [path: string]: string }) =>
    importCycles(Object.entries(imports).map(([path, text]) => ({ path, text })));

  test('a cycle of values, types or lazy imports is found with all its files', () => {
    const files = {
      'src/a.ts': `import { b } from './b.js';`,
      'src/b.ts': `import type { c } from './c/c.js';`,
      'src/c/c.ts': `const a = await import('../a.js');\nimport { d } from '../d.js';`,
      'src/d.ts': `import { e } from './e.js';`,
      'src/e.ts': `import type { d } from './d.js';`,
    };

    expect(cycles(files)).toEqual([
      ['src/d.ts', 'src/e.ts'],
      ['src/a.ts', 'src/b.ts', 'src/c/c.ts'],
    ]);
  });

  test('files that share an import are not a cycle', () => {
    const files = {
      'src/a.ts': `import { b } from './b.js';\nimport { c } from './c.js';`,
      'src/b.ts': `import { c } from './c.js';`,
      'src/c.ts': `import { x } from 'a-package';`,
    };

    expect(cycles(files)).toEqual([]);
  });
});

describe('the import rule', () => {
  const check = (path: string, text: string) => violations([{ path, text }]);

  test.each([
    ['orchestrator/decide.ts', `import type { Issue } from '../src/domain/issue.js';`],
    ['orchestrator/decide.ts', `import { retry } from './retry.js';`],
    ['src/domain/events.ts', `export type { Issue } from './issue.js';`],
    [
      'src/logging/logger.ts',
      `import { pino } from 'pino';\nimport { x } from './sink.js';\nimport '../domain/json.js';`,
    ],
    ['src/tracker/linear/client.ts', `import { x } from '../registry.js';`],
    ['src/clock.ts', `import type { Clock } from './domain/clock.js';`],
    [
      'runner/run-attempt.ts',
      `import { a } from '../hooks/run-hook.js';\nimport { b } from '../templates/render-prompt.js';`,
    ],
    ['runner/executors/codex/client.ts', `import { c } from '../../process.js';`],
    ['runner/contain/spawn.ts', `import { execa } from 'execa';\nimport { spawn } from 'node:child_process';`],
    [
      'src/daemon/daemon.ts',
      `import { loop } from '../orchestrator/loop.js';\nimport { l } from './logging/logger.js';`,
    ],
    ['src/daemon/resources.ts', `import { run } from '../../runner/run-attempt.js';`],
    [
      'src/api/snapshot.ts',
      `import type { State } from '../../orchestrator/state.js';\nimport { RULES } from '../../orchestrator/eligibility.js';`,
    ],
    ['src/cli/run.ts', `import { d } from '../daemon.js';\nconst lazy = await import('../../runner/agent-pool.js');`],
    ['src/tracker/http/tracker-http.ts', `import { h } from '../../http/client.js';`],
    ['runner/executors/http/service-client.ts', `import { h } from '../../../src/http/client.js';`],
    ['src/notify/post-notice.ts', `import { h } from '../http/client.js';`],
    ['orchestrator/timers.ts', `setTimeout(() => Date.now(), 1);`],
    ['src/logging/sink.ts', `const now = Date.now();`],
  ])('allows in %s the text %j', (path, text) => {
    expect(check(path, text)).toEqual([]);
  });

  test.each([
    ['src/domain/issue.ts', `import { x } from '../clock.js';`],
    ['src/domain/issue.ts', `import type { x } from '../../orchestrator/state.js';`],
    ['orchestrator/decide.ts', `import { x } from '../runner/process.js';`],
    ['orchestrator/loop.ts', `import type { x } from '../src/logging/logger.js';`],
    ['orchestrator/loop.ts', `const x = await import('../src/store/memory-store.js');`],
    ['orchestrator/loop.ts', `type X = import('../src/store/memory-store.js').X;`],
    ['orchestrator/loop.ts', `export { x } from '../hooks/run-hook.js';`],
    ['orchestrator/loop.ts', `import '../hooks/run-hook.js';`],
    ['orchestrator/loop.ts', 'import {\n  a, // from here\n  b,\n}\nfrom /* there */\n"../hooks/run-hook.js";'],
    ['hooks/run-hook.ts', `import { x } from '../runner/process.js';`],
    ['templates/render-prompt.ts', `import { x } from '../hooks/run-hook.js';`],
    ['runner/run-attempt.ts', `import { x } from '../src/logging/logger.js';`],
    ['runner/run-attempt.ts', `import { x } from '../orchestrator/state.js';`],
    ['src/tracker/registry.ts', `import { x } from '../logging/redact.js';`],
    ['src/api/snapshot.ts', `import { Loop } from '../../orchestrator/loop.js';`],
    ['src/api/snapshot.ts', `import { x } from '../../orchestrator/perform.js';`],
    ['src/api/snapshot.ts', `import { x } from '../../runner/process.js';`],
    ['src/store/store.ts', `import type { State } from '../../orchestrator/state.js';`],
    ['src/api/snapshot.ts', `import { x } from '../http/client.js';`],
    ['src/http/client.ts', `import { x } from '../tracker/registry.js';`],
    ['src/clock.ts', `import { x } from './other.js';`],
    ['src/logging/logger.ts', `import { x } from '../daemon.js';`],
    ['src/cli/run.ts', `import { x } from '../main.js';`],
    ['src/store/store.ts', `import { x } from '../../test/support/builders.js';`],
    ['src/store/store.ts', `import { x } from './schema';`],
    ['src/store/store.ts', `const x = await import(\`./\${name}.js\`);`],
    ['src/store/store.ts', 'const x = require(name);'],
    ['src/text/format-time.ts', `import { inspect } from 'node:util';`],
    ['src/page/model/words.ts', `import { inspect } from 'node:util';`],
  ])('forbids in %s the text %j', (path, text) => {
    expect(check(path, text)).toHaveLength(1);
  });

  test.each([
    'const now = Date.now();',
    'const now = new Date();',
    'const at = new Date(0);',
    'setTimeout(f, 1);',
    'const f = setInterval;',
    'const x = Math.random();',
    'if (process.env.X) f();',
    `const t = \`at \${Date.now()}\`;`,
    `const t = \`\${\`\${new Date()}\`}\`;`,
    'const q = /[\'"`]/; Date.now();',
    "import { readFileSync } from 'node:fs';",
    "import type { Logger } from 'pino';",
    "type X = import('pino').Logger;",
  ])('forbids in a pure file the text %j', (text) => {
    expect(check('orchestrator/decide.ts', text).join()).toMatch(/is pure but/);
    expect(check('src/domain/new.ts', text).join()).toMatch(/is pure but/);
  });

  test.each([
    '// Date.now() in a comment, setTimeout too',
    '/** Ends the process. new Date( */ const a = 1;',
    `const text = 'Ends the process.env of "Date.now"';`,
    `const text = \`setTimeout \${name} Math.random\`;`,
    'const pid = run.process.pid;',
    'const half = total / 2; // it’s fine',
  ])('allows in a pure file the text %j', (text) => {
    expect(check('orchestrator/decide.ts', text)).toEqual([]);
  });

  test.each(['execa', 'node:child_process', 'child_process'])('forbids %s outside containment', (name) => {
    const text = `import { x } from '${name}';`;

    for (const path of ['runner/run-attempt.ts', 'hooks/run-hook.ts', 'src/daemon/daemon.ts', 'src/cli/run.ts']) {
      expect(check(path, text)).toHaveLength(1);
    }
    expect(check('runner/contain/process.ts', text)).toEqual([]);
  });

  test.each([
    ['a default export', 'runner/a.ts', 'export default 1;'],
    ['a default export by name', 'runner/a.ts', 'const a = 1; export { a as default };'],
    ['a barrel', 'runner/a.ts', `export * from './b.js';`],
    ['a name that is not kebab-case', 'runner/runHook.ts', ''],
  ])('forbids %s', (_, path, text) => {
    expect(check(path, text)).toHaveLength(1);
  });
});

describe('reading source text', () => {
  test.each([
    ['a / b / c', 'a / b / c'],
    ['x = "a\\"b" + \'c\'', 'x = "0" + "1"'],
    ['return /[/"]/.test(x) // "', 'return / /.test(x) '],
    [`\`a \${ {b: \`c\`} } d\``, `\`\${ {b: \`\`} }\``],
    ['a /* "x" */ b', 'a   b'],
    ['"//" // x\ny', '"0" \ny'],
  ])('%j is %j', (text, code) => {
    expect(readSource(text).code).toBe(code);
  });
});
