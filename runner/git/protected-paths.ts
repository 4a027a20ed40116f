import { globSource } from '../../src/domain/glob.js';

/** `ask`: a person must approve the change. `leave_out`: the path keeps the content that the remote has. `allow`: pushed as it is. */
export type PathAction = 'ask' | 'allow' | 'leave_out';

export interface PathRule {
  /** As in `.gitignore`: without a slash before its end it matches in every folder, and a folder covers what is in it. Ignores case. */
  readonly glob: string;
  readonly action: PathAction;
  /** Only changes of what a package manager runs or trusts by itself count. */
  readonly onlyInstallSettings?: true;
  /** Files of this name, not what is in a folder of this name. */
  readonly onlyFile?: true;
}

/** In `.github/`, which is protected as a whole: texts and pictures. */
const ALLOW = [
  ...['/.github/*.md', '/.github/ISSUE_TEMPLATE/', '/.github/PULL_REQUEST_TEMPLATE/', '/.github/DISCUSSION_TEMPLATE/'],
  ...['/.github/FUNDING.yml', '/.github/assets/', '/.github/images/'],
];
/** Files that run something elsewhere: on the servers of a forge, or on the machine of a person who opens the branch. */
const ASK = [
  // Forges, and services that run or merge a branch.
  ...['/.forgejo/', '/.gitea/', '/.gitlab/**/*.y*ml', '*.gitlab-ci.y*ml', 'CODEOWNERS', '/action.y*ml'],
  ...['/.circleci/', 'Jenkinsfile*', '.jenkins/', 'azure-pipelines*.y*ml', '/.azure-pipelines/', '/.azuredevops/'],
  ...['.travis.y*ml', '/.drone.*', '/.woodpecker*', '/.buildkite*', 'bitbucket-pipelines.y*ml', '/.cirrus.*'],
  ...['appveyor.y*ml', '.appveyor.y*ml', 'cloudbuild*.y*ml', 'cloudbuild*.json', 'buildspec*.y*ml', '/.semaphore/'],
  ...['/.teamcity/', '/.tekton/', 'wercker.y*ml', '/.builds/', '/.build.yml', 'codemagic.y*ml', 'bitrise.y*ml'],
  ...['netlify.toml', 'vercel.json', '/render.y*ml', '.readthedocs.y*ml', 'readthedocs.y*ml', '.mergify.y*ml'],
  ...['/.mergify/', 'renovate.json*', '.renovaterc*', '.kodiak.toml', '.bulldozer.y*ml', '.pullapprove.y*ml'],
  ...['/.gitlab-ci/', '/.gitlab/renovate.json*', '/.zuul.y*ml', '/zuul.y*ml', '/.zuul.d/', '/zuul.d/'],
  ...['/codefresh.y*ml', '/.codefresh/', '/.taskcluster.y*ml', '/taskcluster/', '/.harness/', 'screwdriver.y*ml'],
  ...['.onedev-buildspec.y*ml', '/.cnb.y*ml', '/.cnb/', '.packit.y*ml', 'packit.y*ml', '/.prow.y*ml', '/.prow/'],
  ...['/.ci-operator.y*ml', '/.pipelines/', '/.ado/', '/azure-pipelines/', '/.vsts/', '.vsts-*.y*ml', '/buildkite.*'],
  ...['/buildkite/', '/.buddy/', '/buddy.y*ml', '/bamboo-specs/', '/.cloudbees/', '/.cloudbuild/', '/.codebuild/'],
  ...['/.codecatalyst/', '/appspec.y*ml', '/build_spec.y*ml', '/.bluemix/', '/.pipeline-config.y*ml', '/.workflow/'],
  ...['/.coding-ci.y*ml', '/.radicle/', '/.tangled/', '/.vela.y*ml', '/.agola/', '/.space.kts', '/.rultor.y*ml'],
  ...['*.gocd.y*ml', '*.gocd.json', '/.lighthouse/', '/jenkins-x*.y*ml', '/.ci.y*ml', '/.evergreen.y*ml'],
  ...['/.depot/', '/.crow*', 'wrangler.toml', 'wrangler.json*', 'apphosting*.y*ml'],
  ...['/evergreen.y*ml', '/.evergreen/', '/codeship-*.y*ml', '/.scrutinizer.y*ml', '/qodana.y*ml', '/.razorops*'],
  ...['/.bitrise/', '**/ci_scripts/', '/.eas/', '/.copr/', '/.obs/', '/debian/salsa-ci.y*ml', '/.launchpad.y*ml'],
  ...['/jitpack.y*ml', '/amplify.y*ml', 'nixpacks.toml', 'railway.json', 'railway.toml', '/.do/', '/.platform/'],
  ...['.platform.app.y*ml', '/.upsun/', '/.ebextensions/', 'atlantis.y*ml', '/.spacelift/', '/env0.y*ml'],
  ...['/.terrateam/', '/digger.y*ml', '/.asf.y*ml', '/.policy.y*ml', 'bors.toml', '/.cm/', '.trunk/'],
  ...['/.dependabot/', '/.scala-steward.conf', '.arcconfig', '.arclint', '.reviewboardrc'],
  // Release bots.
  ...['.releaserc*', 'release.config.*', '.goreleaser.y*ml', 'goreleaser.y*ml', '.release-it.*', '/.autorc'],
  ...['.versionrc*', 'release-plz.toml', '.release-plz.toml', 'release-please-config.json'],
  ...['**/.changeset/config.json', '/release.toml', 'dist-workspace.toml', '.bumpversion.*', '.cz.*', '.czrc'],
  ...['cliff.toml', 'knope.toml', 'jreleaser.*', '/.craft.y*ml', 'shipit*.y*ml', 'ship.config.*', '.np-config.*'],
  ...['.tagpr'],
  // Git and its hooks.
  ...['.gitmodules', '.lfsconfig', '.husky/', '.huskyrc*', '.githooks/', '.git-hooks/', 'lefthook*.y*ml'],
  ...['lefthook*.toml', 'lefthook*.json'],
  ...['.lefthook*', '.pre-commit-config.y*ml', '.pre-commit-hooks.y*ml', '.overcommit.y*ml', 'captainhook.json'],
  ...['.simple-git-hooks.*', 'simple-git-hooks.*', '.lintstagedrc*', 'lint-staged.config.*', 'grumphp.y*ml'],
  ...['.gitconfig', 'prek.toml', 'hk*.pkl', '.hk*.pkl', '.rusty-hook.toml', '.nano-staged.*', 'nano-staged.*'],
  ...['/common/git-hooks/'],
  // Repositories of other systems, whose settings are commands. Prompts of shells run these systems in each folder.
  ...['*.git/', '.hg/', '.jj/', '.sl/'],
  // Package managers and the tools that they fetch.
  ...['.npmrc', '.yarnrc*', '**/.yarn/plugins/', '**/.yarn/releases/', '**/.yarn/sdks/', '.pnp.*', '.pnpmfile.*'],
  ...['pnpm-workspace.y*ml', 'bunfig.toml', 'binding.gyp', '.cargo/', '.mvn/', 'mvnw*', '**/gradle/wrapper/'],
  ...['gradlew*'],
  ...['nuget.config', '.bundle/', '.gemrc', 'pip.conf', 'uv.toml', 'poetry.toml', '.pdm.toml', '.pypirc', '.condarc'],
  ...['.terraformrc', '*.bazelrc', '.bazeliskrc', '.bazelversion', '/tools/bazel', '/tools/bazel.*', '.buck*'],
  ...['.plzconfig*', 'pants*.toml', '.pants.rc', '.tool-versions', '.asdfrc', '.mise*.toml', 'mise.toml'],
  ...['mise.*.toml', '.mise/', '**/.config/mise*', '**/mise/config*.toml', '.rtx.toml', '.prototools', '.moon/'],
  ...['devbox.json', '.flox/', 'rust-toolchain', 'rust-toolchain.toml', 'dotnet-tools.json', '/global.json'],
  ...['/src/global.json', '.paket/', 'aqua.y*ml', '.aqua.y*ml', 'pkgx.y*ml', '.pkgx.y*ml', '**/bin/hermit'],
  ...['**/bin/hermit.hcl', '.rvmrc', '.swiftpm/', '.envrc*', '.direnvrc', '.direnv/', '.autoenv*', '.shadowenv.d/'],
  ...['.bowerrc', '.corepack.env', '.mambarc', '/common/config/rush/', 'vcpkg-configuration.json', '.sbtopts'],
  ...['.jvmopts', '.mill-*', '**/gradle/gradle-daemon-jvm.properties'],
  ...['flake.nix', 'shell.nix', 'devenv.nix', 'devenv.y*ml'],
  // Editors and machines for development.
  ...['.vscode/', '*.code-workspace', '.idea/', '*.run.xml', '.fleet/', '.zed/', '.vs/', '*.sublime-project'],
  ...['.nvim.lua', '.nvimrc', '.exrc', '.lvimrc', '.dir-locals.el', '.devcontainer/', '.devcontainer.json'],
  ...['.gitpod.*', '.gitpod/', '.replit', 'replit.nix', '.idx/', '.codesandbox/', '.stackblitzrc'],
  ...['.ona/', 'devfile.y*ml', '.devfile.y*ml', '.vimrc', '.lazy.lua', '**/.vim/coc-settings.json', '.helix/'],
  ...['.nova/', '.lite_project.lua', '.externalToolBuilders/', '.dir-locals-2.el'],
  // Interpreters and debuggers run them when they start in the folder.
  ...['.Rprofile', '.gdbinit', '.lldbinit', '.ghci', '.iex.exs', '.irbrc', '.pryrc', '.pdbrc', '.perldb'],
  ...['.RData', '.Renviron', '.octaverc', '.ocamlinit', '.byebugrc', '.rdbgrc'],
  // Agents: their hooks, commands, skills and servers.
  ...['.agents/', '.claude/', '.claude-plugin/', '.codex/', '.cursor/', '.gemini/', 'gemini-extension.json', '.qwen/'],
  ...['.copilot/', '.windsurf/', '.kiro/', '.opencode/', 'opencode.json*', '.aider*', '.continue/', '.roo/'],
  ...['.roomodes', '.cline/', '.clinerules/', '.junie/', '.amazonq/', '.augment/', '.factory/', '.openhands/'],
  ...['.trae/', '.goose/', '.crush.json', '/crush.json', '.mcp.json', '/mcp.json', '.kilocode/', '.kilocodemodes'],
  ...['.kilo/', '.continuerc*', '.codeium/', '.devin/', '.agent/', '.antigravity/', '.amp/', '.cursor-plugin/'],
  ...['.zencoder/', '.codebuddy/', '.iflow/', '.lingma/', '.tabnine/', '.cody/', '.pi/', '.mux/', '.vibe/', '.kimi/'],
  ...['.grok/', '.warp/', '.rovodev/', '.forge/', '.gptme/', 'gptme.toml', '.qoder/', '.kode/', '.neovate/'],
  ...['.pochi/', '.adal/', '.bob/', '.cortex/', '.commandcode/', '.mcpjam/', '.firebender/', 'firebender.json'],
  ...['.serena/', '.specify/', 'conductor.json', '.conductor/'],
];

const LEAVE_OUT = ['/WORKFLOW.md', '/.baton/', '/.codebolt/'];

/** The last matching rule wins; those of the workflow come after them. */
export const DEFAULT_RULES: readonly PathRule[] = [
  { glob: '/.github/', action: 'ask' },
  ...ALLOW.map((glob): PathRule => ({ glob, action: 'allow' })),
  ...ASK.map((glob): PathRule => ({ glob, action: 'ask' })),
  // Without `.git`, a folder with this file and two others is a repository for git. The file `config` in it then names commands.
  { glob: 'HEAD', action: 'ask', onlyFile: true },
  { glob: 'package.json', action: 'ask', onlyInstallSettings: true },
  { glob: 'composer.json', action: 'ask', onlyInstallSettings: true },
  ...LEAVE_OUT.map((glob): PathRule => ({ glob, action: 'leave_out' })),
];

/**
 * The rule for a path; null when none matches. `isLink`: the entry may stand for a folder, so what would be below it counts too. A rule
 * that allows one file does not allow a link in place of its folder.
 */
export function ruleFor(path: string, rules: readonly PathRule[], isLink = false): PathRule | null {
  const text = foldedName(path);
  const matches = ({ glob, action, onlyFile }: PathRule) =>
    matcherOf(glob)(text, isLink && action !== 'allow') &&
    !(onlyFile && text.slice(text.lastIndexOf('/') + 1) !== foldedName(glob));
  return rules.findLast(matches) ?? null;
}

/**
 * Two names with the same result may be the same file on some disk: macOS ignores case, also of letters such as the long s, forms of
 * letters, and on older disks invisible characters.
 */
export function foldedName(path: string): string {
  return path
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toUpperCase()
    .toLowerCase();
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
  const body = foldedName(glob).replace(/\/+$/, '');
  const prefix = body.includes('/') ? '' : '(?:.*/)?';
  const words = body.split('/').filter((word) => word !== '' && word !== '.');
  const patternOf = (some: readonly string[]) => globSource(some.join('/'), true).slice(1, -1);
  const whole = new RegExp(`^${prefix}${patternOf(words)}${isFolder ? '/' : '(?:/|$)'}`, 's');
  // A link named like a folder on the way to a match leads there.
  const ways = words.flatMap((word, index) => (word === '**' ? [] : [patternOf(words.slice(0, index + 1))]));
  const links = ways.map((way) => new RegExp(`^${prefix}${way}$`, 's'));
  return (path, isLink) => whole.test(path) || (isLink && links.some((link) => link.test(path)));
}

const INSTALL_SCRIPTS =
  /^(?:pre|post)?(?:install|uninstall|prepare|pack|publish|rebuild|shrinkwrap|version|dependencies|update|autoload-dump)|^prepublishonly$|-cmd$/i;

/** Other fields with commands, or that decide whose code is fetched and run. `config` and `repositories` are those of Composer. */
const SETTINGS = [
  ...['packageManager', 'devEngines', 'gypfile', 'publishConfig', 'pnpm', 'trustedDependencies', 'allowScripts'],
  ...['dependenciesMeta', 'lavamoat', 'husky', 'gitHooks', 'pre-commit', 'simple-git-hooks', 'lint-staged'],
  ...['config', 'repositories'],
];
const DEPENDENCIES = [
  ...['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies', 'overrides', 'resolutions'],
];
/** A version in a registry, or a folder of the same repository. */
const ORDINARY = /^(?:[^:/]*|(?:npm|jsr|workspace|catalog|link):.*|file:(?!.*\.(?:tgz|tar|gz)$).*)$/is;

/**
 * Whether two versions of a `package.json` differ in what a package manager runs by itself: scripts, settings, and dependencies that come
 * from elsewhere than a registry. A text that is no JSON counts as different.
 */
export function changesInstallSettings(before: string | null, after: string | null): boolean {
  if (after === null) return false;
  const [old, current] = [installSettings(before ?? '{}'), installSettings(after)];
  return current === null || old !== current;
}

function installSettings(text: string): string | null {
  try {
    const fields = JSON.parse(text) as { readonly [name: string]: unknown };
    const scripts = Object.entries(fields.scripts ?? {}).filter(([name]) => INSTALL_SCRIPTS.test(name));
    const settings = SETTINGS.map((name) => [name, fields[name]]);
    const dependencies = DEPENDENCIES.flatMap((name) => leavesOf(fields[name], name));
    return JSON.stringify([scripts.sort(), settings, dependencies.filter(([, from]) => !ORDINARY.test(from)).sort()]);
  } catch {
    return null;
  }
}

/** The path and the text of everything in a value. */
function leavesOf(value: unknown, path: string): [path: string, text: string][] {
  if (typeof value !== 'object' || value === null) return [[path, String(value)]];
  return Object.entries(value).flatMap(([key, one]) => leavesOf(one, `${path}\0${key}`));
}
