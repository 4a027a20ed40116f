import { posix } from 'node:path';
import { readSource, type SourceText } from './source-text.js';

export interface SourceFile {
  /** Relative to the root of the project, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** Returns every violation of the import rules as `path: problem`. Pure. */
export function violations(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const source = readSource(file.text);
    const imports = importsOf(source);
    return [
      ...imports.flatMap((specifier) => importViolations(file.path, specifier)),
      ...(isPure(file.path) ? purityViolations(source, imports) : []),
      ...formViolations(file, source),
    ].map((problem) => `${file.path}: ${problem}`);
  });
}

/**
 * Groups of files that import each other in a cycle, type imports included, each as its sorted paths. Pure. Tarjan's algorithm: a file
 * that cannot reach an older file of the stack closes a group.
 */
export function importCycles(files: readonly SourceFile[]): string[][] {
  const paths = new Set(files.map(({ path }) => path));
  const targets = new Map(
    files.map(({ path, text }) => [path, importedFiles(path, text).filter((target) => paths.has(target))]),
  );
  const order = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];
  const visit = (path: string): number => {
    let low = order.size;
    order.set(path, low);
    stack.push(path);
    for (const target of targets.get(path) ?? []) {
      if (!order.has(target)) low = Math.min(low, visit(target));
      else if (stack.includes(target)) low = Math.min(low, order.get(target) ?? low);
    }
    if (low === order.get(path)) {
      const group = stack.splice(stack.indexOf(path));
      if (group.length > 1 || targets.get(path)?.includes(path)) cycles.push(group.sort());
    }
    return low;
  };
  for (const { path } of files) if (!order.has(path)) visit(path);
  return cycles;
}

/** The paths of our own files that a file imports. */
function importedFiles(path: string, text: string): string[] {
  return importsOf(readSource(text))
    .filter((specifier) => specifier.startsWith('.'))
    .flatMap((specifier) => {
      const target = posix.join(posix.dirname(path), specifier);
      return [target.replace(/\.js$/, '.ts'), target.replace(/\.js$/, '.tsx')];
    });
}

/**
 * The demo agent and the git program of hooks already run inside containment; the demo's repository is created before the daemon
 * starts.
 */
const STARTERS: readonly string[] = ['runner/contain/process.ts', 'src/demo/run-child.ts', 'runner/git/git.ts'];

/** The specifiers of all imports, static, dynamic, of types, and re-exports. */
function importsOf({ code, strings }: SourceText): string[] {
  const found = code.matchAll(/\b(?:from|import|require)\s*\(?\s*"(\d+)"/g);
  return Array.from(found, ([, number]) => strings[Number(number)] ?? '');
}

function importViolations(from: string, specifier: string): string[] {
  if (isForBrowsers(from) && specifier.startsWith('node:')) return [`imports ${specifier}, which browsers do not have`];
  if (!specifier.startsWith('.')) {
    const startsProcesses = /^(?:execa|(?:node:)?child_process)$/.test(specifier);
    const mayStartThem = STARTERS.includes(from) || from.startsWith('runner/contain/');
    return startsProcesses && !mayStartThem
      ? [`imports ${specifier}; only ${STARTERS.join(', ')} and runner/contain/ start processes`]
      : [];
  }
  if (!/\.js(?:on)?$/.test(specifier)) return [`imports ${specifier} without its .js ending`];
  const to = posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.ts');
  if (to === 'src/main.ts') return ['imports src/main.ts, which nobody may'];
  if (to === TERMINAL_ONLY && from.startsWith('src/page/')) return [`imports ${to}, which is for terminals`];
  return mayImport(from, to) ? [] : [`may not import ${to}`];
}

function mayImport(from: string, to: string): boolean {
  const home = areaOf(from);
  const target = areaOf(to);
  if (home === 'top') return true;
  if (home === target && home !== 'src') return true;
  if (home === 'src/domain') return false;
  if (target === 'src/domain') return true;
  // Text helpers are pure. The core works with codes and needs no text.
  if (target === 'src/text') return home !== 'orchestrator';
  if (target === 'src/http') return HTTP_CALLERS.includes(home);
  if (home === 'src/page') return target === 'src/api';
  // The status calls the core's own decision functions to explain why an issue does not start, so the rules exist once. It may
  // import only the pure files, because it must not change state.
  if (home === 'src/api' && target === 'orchestrator') return isPure(to);
  return home === 'runner' && (target === 'hooks' || target === 'templates');
}

const HTTP_CALLERS = ['src/tracker', 'src/notify', 'runner'];

/** `top` may import everything. A file directly in `src` (`src`) is an adapter. Any other file belongs to its folder. */
function areaOf(path: string): string {
  if (/^src\/(?:main\.ts$|daemon\/)/.test(path) || path.startsWith('src/cli/')) return 'top';
  const folders = posix.dirname(path).split('/');
  return folders.slice(0, folders[0] === 'src' ? 2 : 1).join('/');
}

/** The page and its imports. */
function isForBrowsers(path: string): boolean {
  return /^src\/(?:page|text|domain)\//.test(path) && path !== TERMINAL_ONLY;
}

const TERMINAL_ONLY = 'src/text/terminal-text.ts';

const IMPURE_FILES = ['orchestrator/loop.ts', 'orchestrator/perform.ts', 'orchestrator/timers.ts'];
const PURE_FILES = [
  'src/api/actions.ts',
  'src/api/activity.ts',
  'src/api/explain.ts',
  'src/api/issue-view.ts',
  'src/api/patch.ts',
  'src/api/snapshot.ts',
  'src/api/why-idle.ts',
  'src/api/timeline.ts',
  'src/api/totals.ts',
  'src/api/why-idle.ts',
  'src/tracker/registry.ts',
];

function isPure(path: string): boolean {
  if (IMPURE_FILES.includes(path)) return false;
  return PURE_FILES.includes(path) || /^(?:orchestrator|src\/domain)\//.test(path);
}

const IMPURITIES: readonly [string, RegExp][] = [
  ['Date.now', /\bDate\s*\.\s*now\b/],
  ['new Date(', /\bnew\s+Date\b/],
  ['setTimeout', /\bsetTimeout\b/],
  ['setInterval', /\bsetInterval\b/],
  ['setImmediate', /\bsetImmediate\b/],
  ['performance', /(?<![.\w$])performance\s*\./],
  ['Math.random', /\bMath\s*\.\s*random\b/],
  ['crypto', /(?<![.\w$])crypto\s*\./],
  ['process.', /(?<![.\w$])process\s*[.[]/],
  ['globalThis', /\bglobalThis\b/],
];

function purityViolations({ code }: SourceText, imports: readonly string[]): string[] {
  const mentions = IMPURITIES.filter(([, pattern]) => pattern.test(code)).map(
    ([name]) => `is pure but mentions ${name}`,
  );
  // Type imports vanish at run time, but they still make the core depend on the package.
  const packages = imports.filter((specifier) => !specifier.startsWith('.'));
  return [...mentions, ...packages.map((name) => `is pure but imports ${name}`)];
}

function formViolations({ path }: SourceFile, { code }: SourceText): string[] {
  return [
    ...(/\bexport\s+default\b|\bas\s+default\b/.test(code) ? ['has a default export'] : []),
    ...(/\bexport\s*(?:type\s*)?\*/.test(code) ? ['re-exports everything of another file'] : []),
    ...(/\b(?:import|require)\s*\(\s*(?!["\s])/.test(code) ? ['imports something that only shows at run time'] : []),
    ...(/^[a-z0-9]+(?:-[a-z0-9]+)*\.ts$/.test(posix.basename(path)) ? [] : ['is not named in kebab-case']),
  ];
}
