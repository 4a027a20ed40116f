/** A parsed address of a web page or a git remote. */
interface Address {
  /** With port and protocol; `https` for an ssh remote. */
  readonly origin: string;
  readonly host: string;
  readonly parts: readonly string[];
}

/** A project as WORKFLOW.md names it. */
export interface TrackerProject {
  /** Keys of `tracker.provider`; null leaves a key out. */
  readonly provider: { readonly [key: string]: string | null };
  /** For output. */
  readonly name: string;
}

type ReadProject = (written: string) => TrackerProject | null;

const GITHUB = 'github.com';
const GITLAB = 'gitlab.com';
/** Public hosts, whose remotes belong to no self-hosted instance. */
const KNOWN_HOSTS = [
  GITHUB,
  GITLAB,
  'bitbucket.org',
  'codeberg.org',
  'dev.azure.com',
  'ssh.dev.azure.com',
  'git.sr.ht',
];

const READERS: { readonly [kind: string]: ReadProject } = {
  github: githubProject,
  gitlab: gitlabProject,
  linear: linearProject,
  jira: jiraProject,
  redmine: redmineProject,
};

/** The project that an address or a name stands for; null when this kind of tracker has no such project. */
export function readProject(kind: string, written: string): TrackerProject | null {
  return READERS[kind]?.(written.trim()) ?? null;
}

/** The project of a git remote, in a form that `readProject` accepts; null for a remote of another kind. */
export function guessProject(kind: string, remoteUrl: string | null): string | null {
  const own = kind === 'github' ? GITHUB : kind === 'gitlab' ? GITLAB : null;
  const address = own === null || remoteUrl === null ? null : parseAddress(remoteUrl);
  if (address === null || !address.origin.startsWith('https:')) return null;
  const { host, origin, parts } = address;
  const path = parts.join('/');
  if (host !== own && KNOWN_HOSTS.includes(host)) return null;
  const guess = host === own ? path : `${origin}/${path}`;
  return readProject(kind, guess) === null ? null : guess;
}

function githubProject(written: string): TrackerProject | null {
  const address = locate(written);
  const [owner, repo] = address?.parts ?? parseNames(written) ?? [];
  if (owner === undefined || repo === undefined) return null;
  const name = `${owner}/${repo}`;
  if (address === null || address.host === GITHUB) return { provider: { repo: name, endpoint: null }, name };
  const isCloud = address.host.endsWith('.ghe.com');
  const endpoint = isCloud ? `https://api.${address.host}` : `${address.origin}/api/v3`;
  return { provider: { repo: name, endpoint }, name: `${name} at ${address.host}` };
}

function gitlabProject(written: string): TrackerProject | null {
  const address = locate(written);
  const parts = address?.parts ?? parseNames(written) ?? [];
  // The dash separates the project from its pages.
  const end = parts.indexOf('-');
  const path = (end === -1 ? parts : parts.slice(0, end)).join('/');
  if (!path.includes('/')) return null;
  if (address === null || address.host === GITLAB) return { provider: { project: path, endpoint: null }, name: path };
  return { provider: { project: path, endpoint: address.origin }, name: `${path} at ${address.host}` };
}

function linearProject(written: string): TrackerProject | null {
  const address = parseAddress(written);
  const [kind, name] = address === null ? nameInLinear(written) : address.parts.slice(1);
  if (name === undefined || !/^[\p{L}\p{N}_.~%-]+$/u.test(name)) return null;
  if (kind === 'team') return { provider: { project_slug: null, team: name }, name: `team ${name}` };
  if (kind === 'project') return { provider: { project_slug: name, team: null }, name: `project ${name}` };
  return null;
}

/** The key of a team, as in ENG-12, or the slug of a project. */
function nameInLinear(written: string): readonly [string, string] {
  const isKey = /^[A-Za-z][A-Za-z0-9]{0,9}$/.test(written);
  return isKey ? ['team', written.toUpperCase()] : ['project', written];
}

function jiraProject(written: string): TrackerProject | null {
  const address = parsePage(written);
  const at = address?.parts.findIndex((part) => part === 'projects' || part === 'browse') ?? -1;
  const key = /^[A-Za-z][A-Za-z0-9_]*/.exec(address?.parts[at + 1] ?? '')?.[0].toUpperCase();
  if (address === null || at === -1 || key === undefined) return null;
  return { provider: { endpoint: address.origin, project: key }, name: `${key} at ${address.host}` };
}

function redmineProject(written: string): TrackerProject | null {
  const address = parsePage(written);
  const at = address?.parts.indexOf('projects') ?? -1;
  const project = address?.parts[at + 1];
  if (address === null || at === -1 || project === undefined) return null;
  const endpoint = [address.origin, ...address.parts.slice(0, at)].join('/');
  return { provider: { endpoint, project }, name: `${project} at ${address.host}` };
}

/**
 * `git.example.org/group/project` is an address and not a project of the default host, which would otherwise receive the token. In a name
 * of two parts a dot belongs to the name.
 */
function locate(written: string): Address | null {
  return parseAddress(written) ?? (written.split('/').length > 2 ? parsePage(written) : null);
}

/** The address of a page, with or without `https://`. */
function parsePage(written: string): Address | null {
  return parseAddress(/^[\w-]+(?:\.[\w-]+)+(?::\d+)?\//.test(written) ? `https://${written}` : written);
}

/** `https://host/a/b`, `ssh://git@host:22/a/b.git`, `git@host:a/b.git` and `github.com/a/b`. */
function parseAddress(written: string): Address | null {
  const [, host, path] = /^(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+):(?!\/\/)([^\s]+)$/.exec(written) ?? [];
  if (host !== undefined && path !== undefined) return addressOf(`https://${host}`, host, path);
  const isBare = /^(?:www\.)?(?:github\.com|gitlab\.com|linear\.app)\//i.test(written);
  const text = isBare ? `https://${written}` : written;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.hostname === '') return null;
  if (/^https?:$/.test(url.protocol)) return addressOf(url.origin, url.host, url.pathname);
  // A host without a dot is an alias of the user's ssh settings.
  return /^(?:git\+)?ssh:$|^git:$/.test(url.protocol) && url.hostname.includes('.')
    ? addressOf(`https://${url.hostname}`, url.hostname, url.pathname)
    : null;
}

/** GitHub and GitLab have other host names for ssh. */
function addressOf(origin: string, written: string, path: string): Address {
  const host = written.toLowerCase().replace(/^(?:www|ssh)\.(?=github\.com$)|^(?:www|altssh)\.(?=gitlab\.com$)/, '');
  return { origin: host === written ? origin : `https://${host}`, host, parts: pathParts(path) };
}

function parseNames(written: string): readonly string[] | null {
  return /^[\w.-]+(?:\/[\w.-]+)+$/.test(written) ? pathParts(written) : null;
}

function pathParts(path: string): readonly string[] {
  return path
    .replace(/\/+$/, '')
    .replace(/\.git$/, '')
    .split('/')
    .filter((part) => part !== '');
}
