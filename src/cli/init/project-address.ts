/** What a place on the web or of git names: where it is, and which parts its path has. */
interface Address {
  /** With port and protocol; `https` where git goes by ssh. */
  readonly origin: string;
  readonly host: string;
  readonly parts: readonly string[];
}

/** A project as WORKFLOW.md names it. */
export interface TrackerProject {
  /** Keys of `tracker.provider`; `null`: left out. */
  readonly provider: { readonly [key: string]: string | null };
  /** For people. */
  readonly name: string;
}

type ReadProject = (written: string) => TrackerProject | null;

const GITHUB = 'github.com';
const GITLAB = 'gitlab.com';
/** Hosts of which everybody knows what they run. */
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

/** The project that an address or a name stands for; `null`: none that this kind of tracker has. */
export function readProject(kind: string, written: string): TrackerProject | null {
  return READERS[kind]?.(written.trim()) ?? null;
}

/** The project whose code the git remote holds, as `readProject` takes it; `null`: the remote is of something else. */
export function guessProject(kind: string, remoteUrl: string | null): string | null {
  const own = kind === 'github' ? GITHUB : kind === 'gitlab' ? GITLAB : null;
  const address = own === null || remoteUrl === null ? null : addressIn(remoteUrl);
  if (address === null || !address.origin.startsWith('https:')) return null;
  const { host, origin, parts } = address;
  const path = parts.join('/');
  if (host !== own && KNOWN_HOSTS.includes(host)) return null;
  const guess = host === own ? path : `${origin}/${path}`;
  return readProject(kind, guess) === null ? null : guess;
}

function githubProject(written: string): TrackerProject | null {
  const address = placeIn(written);
  const [owner, repo] = address?.parts ?? namesIn(written) ?? [];
  if (owner === undefined || repo === undefined) return null;
  const name = `${owner}/${repo}`;
  if (address === null || address.host === GITHUB) return { provider: { repo: name, endpoint: null }, name };
  const isCloud = address.host.endsWith('.ghe.com');
  const endpoint = isCloud ? `https://api.${address.host}` : `${address.origin}/api/v3`;
  return { provider: { repo: name, endpoint }, name: `${name} at ${address.host}` };
}

function gitlabProject(written: string): TrackerProject | null {
  const address = placeIn(written);
  const parts = address?.parts ?? namesIn(written) ?? [];
  // What follows the dash is a page of the project.
  const end = parts.indexOf('-');
  const path = (end === -1 ? parts : parts.slice(0, end)).join('/');
  if (!path.includes('/')) return null;
  if (address === null || address.host === GITLAB) return { provider: { project: path, endpoint: null }, name: path };
  return { provider: { project: path, endpoint: address.origin }, name: `${path} at ${address.host}` };
}

function linearProject(written: string): TrackerProject | null {
  const address = addressIn(written);
  const [kind, name] = address === null ? nameInLinear(written) : address.parts.slice(1);
  if (name === undefined || !/^[\p{L}\p{N}_.~%-]+$/u.test(name)) return null;
  if (kind === 'team') return { provider: { project_slug: null, team: name }, name: `team ${name}` };
  if (kind === 'project') return { provider: { project_slug: name, team: null }, name: `project ${name}` };
  return null;
}

/** The key of a team, as issues begin with it (ENG-12), or a slug, which ends with twelve digits. */
function nameInLinear(written: string): readonly [string, string] {
  const isKey = /^[A-Za-z][A-Za-z0-9]{0,9}$/.test(written);
  return isKey ? ['team', written.toUpperCase()] : ['project', written];
}

function jiraProject(written: string): TrackerProject | null {
  const address = pageIn(written);
  const at = address?.parts.findIndex((part) => part === 'projects' || part === 'browse') ?? -1;
  const key = /^[A-Za-z][A-Za-z0-9_]*/.exec(address?.parts[at + 1] ?? '')?.[0].toUpperCase();
  if (address === null || at === -1 || key === undefined) return null;
  return { provider: { endpoint: address.origin, project: key }, name: `${key} at ${address.host}` };
}

function redmineProject(written: string): TrackerProject | null {
  const address = pageIn(written);
  const at = address?.parts.indexOf('projects') ?? -1;
  const project = address?.parts[at + 1];
  if (address === null || at === -1 || project === undefined) return null;
  const endpoint = [address.origin, ...address.parts.slice(0, at)].join('/');
  return { provider: { endpoint, project }, name: `${project} at ${address.host}` };
}

/** `git.example.org/group/project` is a place elsewhere, and no project at the usual host: the token would go there. A dot in a bare name of two parts is part of it. */
function placeIn(written: string): Address | null {
  return addressIn(written) ?? (written.split('/').length > 2 ? pageIn(written) : null);
}

/** The address of a page, be it without `https://`. */
function pageIn(written: string): Address | null {
  return addressIn(/^[\w-]+(?:\.[\w-]+)+(?::\d+)?\//.test(written) ? `https://${written}` : written);
}

/** `https://host/a/b`, `ssh://git@host:22/a/b.git`, `git@host:a/b.git`, and `github.com/a/b` as people say it. */
function addressIn(written: string): Address | null {
  const [, host, path] = /^(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+):(?!\/\/)([^\s]+)$/.exec(written) ?? [];
  if (host !== undefined && path !== undefined) return addressOf(`https://${host}`, host, path);
  const isSaid = /^(?:www\.)?(?:github\.com|gitlab\.com|linear\.app)\//i.test(written);
  const text = isSaid ? `https://${written}` : written;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.hostname === '') return null;
  if (/^https?:$/.test(url.protocol)) return addressOf(url.origin, url.host, url.pathname);
  // A name without a dot is one of somebody's ssh settings.
  return /^(?:git\+)?ssh:$|^git:$/.test(url.protocol) && url.hostname.includes('.')
    ? addressOf(`https://${url.hostname}`, url.hostname, url.pathname)
    : null;
}

/** GitHub and GitLab listen for ssh under other names, too. */
function addressOf(origin: string, written: string, path: string): Address {
  const host = written.toLowerCase().replace(/^(?:www|ssh)\.(?=github\.com$)|^(?:www|altssh)\.(?=gitlab\.com$)/, '');
  return { origin: host === written ? origin : `https://${host}`, host, parts: partsIn(path) };
}

function namesIn(written: string): readonly string[] | null {
  return /^[\w.-]+(?:\/[\w.-]+)+$/.test(written) ? partsIn(written) : null;
}

function partsIn(path: string): readonly string[] {
  return path
    .replace(/\/+$/, '')
    .replace(/\.git$/, '')
    .split('/')
    .filter((part) => part !== '');
}
