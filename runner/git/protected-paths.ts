/** `ask`: a person must approve the change. `leave_out`: the path keeps the content that the remote has. `allow`: pushed as it is. */
export type PathAction = 'ask' | 'allow' | 'leave_out';

export interface PathRule {
  /** As in `.gitignore`: without a slash before its end it matches in every folder, and a folder covers what is in it. Ignores case. */
  readonly glob: string;
  readonly action: PathAction;
  /** Only changes of scripts that a package manager runs by itself count. */
  readonly onlyInstallScripts?: true;
}

/** Files that run something elsewhere: on the servers of a forge, or on the machine of a person who opens the branch. */
const ASK = [
  ...['/.github/workflows/', '/.github/actions/', '/action.y*ml', '/.github/dependabot.y*ml'],
  ...['/.forgejo/', '/.gitea/', '.gitlab-ci.y*ml', '/.gitlab/ci/', '/.gitlab/agents/'],
  ...['/.circleci/', 'Jenkinsfile*', 'azure-pipelines*.y*ml', '/.azure-pipelines/', '/.azuredevops/'],
  ...['.travis.y*ml', '/.drone.*', '/.woodpecker*', '/.buildkite/', 'bitbucket-pipelines.y*ml', '/.cirrus.*'],
  ...['appveyor.y*ml', '.appveyor.y*ml', 'cloudbuild.y*ml', 'cloudbuild.json', 'buildspec*.y*ml', '/.semaphore/'],
  ...['/.teamcity/', '/.tekton/', 'wercker.y*ml', '/.builds/', '/.build.yml', 'netlify.toml', 'vercel.json'],
  ...['CODEOWNERS', '.gitmodules', '.lfsconfig', '.husky/', '.githooks/', 'lefthook*.y*ml', '.lefthook*'],
  ...['.pre-commit-config.y*ml', '.npmrc', '.yarnrc*', '.pnpmfile.*', '**/.yarn/plugins/', '**/.yarn/releases/'],
  ...['bunfig.toml', 'pip.conf', '.envrc', '.mise.toml', 'mise.toml', '.mise/', '.devcontainer/', '.devcontainer.json'],
  ...['**/.vscode/tasks.json', '**/.vscode/launch.json', '**/.vscode/settings.json', '*.code-workspace'],
  ...['**/.idea/runConfigurations/', '.mcp.json', '.codex/', '**/.claude/settings*.json', '**/.claude/hooks/'],
  ...['**/.cursor/mcp.json', '**/.gemini/settings.json'],
];
const LEAVE_OUT = ['/WORKFLOW.md', '/.baton/', '/.codebolt/'];

/** The last matching rule wins; those of the workflow come after them. */
export const DEFAULT_RULES: readonly PathRule[] = [
  ...ASK.map((glob): PathRule => ({ glob, action: 'ask' })),
  { glob: 'package.json', action: 'ask', onlyInstallScripts: true },
  { glob: 'composer.json', action: 'ask', onlyInstallScripts: true },
  ...LEAVE_OUT.map((glob): PathRule => ({ glob, action: 'leave_out' })),
];

/** The rule for a path; null when none matches. `isLink`: the entry may stand for a folder, so what would be below it counts too. */
export function ruleFor(path: string, rules: readonly PathRule[], isLink = false): PathRule | null {
  const text = path.toLowerCase();
  return rules.findLast((rule) => matcherOf(rule.glob)(text, isLink)) ?? null;
}

type Matcher = (path: string, isLink: boolean) => boolean;
const MATCHERS = new Map<string, Matcher>();

function matcherOf(glob: string): Matcher {
  const matcher = MATCHERS.get(glob) ?? makeMatcher(glob);
  MATCHERS.set(glob, matcher);
  return matcher;
}

function makeMatcher(glob: string): Matcher {
  const isFolder = glob.endsWith('/');
  const body = glob.toLowerCase().replace(/\/+$/, '');
  const prefix = body.includes('/') ? '' : '(?:.*/)?';
  const words = body.split('/').filter((word) => word !== '' && word !== '.');
  const whole = new RegExp(`^${prefix}${patternOf(words)}${isFolder ? '/' : '(?:/|$)'}`, 's');
  // A link named like a folder on the way to a match leads there.
  const ways = words.flatMap((word, index) => (word === '**' ? [] : [patternOf(words.slice(0, index + 1))]));
  const links = ways.map((way) => new RegExp(`^${prefix}${way}$`, 's'));
  return (path, isLink) => whole.test(path) || (isLink && links.some((link) => link.test(path)));
}

function patternOf(words: readonly string[]): string {
  return words
    .map((word, index) => {
      const isLast = index === words.length - 1;
      if (word === '**') return isLast ? '.*' : '(?:.*/)?';
      const text = word
        .replace(/[\\^$.|+()[\]{}]/g, '\\$&')
        .replace(/\*+/g, '[^/]*')
        .replace(/\?/g, '[^/]');
      return isLast ? text : `${text}/`;
    })
    .join('');
}

const INSTALL_SCRIPTS =
  /^(?:pre|post)?(?:install|uninstall|prepare|pack|publish|rebuild|shrinkwrap|version|dependencies|update|autoload-dump)|^prepublishonly$|-cmd$/i;

/** Whether two versions of a `package.json` differ in a script that runs by itself. A text that is no JSON counts as different. */
export function changesInstallScripts(before: string | null, after: string | null): boolean {
  if (after === null) return false;
  const [old, current] = [installScripts(before ?? '{}'), installScripts(after)];
  return current === null || old !== current;
}

function installScripts(text: string): string | null {
  try {
    const { scripts = {} } = JSON.parse(text) as { scripts?: { [name: string]: unknown } };
    const own = Object.entries(scripts).filter(([name]) => INSTALL_SCRIPTS.test(name));
    return JSON.stringify(own.sort(([a], [b]) => (a < b ? -1 : 1)));
  } catch {
    return null;
  }
}
