import { resolve } from 'node:path';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { environmentFor } from '../../../runner/environment.js';
import { createClock } from '../../clock.js';
import type { Io } from '../io.js';
import { runShell } from '../run-shell.js';

const TIME_LIMIT_MS = 10_000;

/** What git says about a folder, without asking any remote. */
export interface GitFacts {
  /** `false`: git itself is missing. */
  readonly hasGit: boolean;
  /** Why git would not look into the folder; `null` when it did, or found nothing there. */
  readonly refusal: string | null;
  /** The top folder of the repository; `null` outside of one. */
  readonly top: string | null;
  /** Of `origin`, or of the only remote; absolute where it is a path. */
  readonly remoteUrl: string | null;
  /** What the remote calls its default branch, as far as the last fetch told. */
  readonly defaultBranch: string | null;
  /** The branch that is checked out; `null` when HEAD is detached. */
  readonly branch: string | null;
  readonly hasCommits: boolean;
}

const SCRIPT = `
command -v git >/dev/null || { printf 'no-git'; exit; }
printf 'git\\0'
top=$(git rev-parse --show-toplevel 2>&1) || { printf '\\0%s' "$top"; exit; }
remote=origin
git remote get-url origin >/dev/null 2>&1 || remote=$(git remote)
[ "$(printf '%s\\n' "$remote" | wc -l)" = 1 ] || remote=
url=; default=
if [ -n "$remote" ]; then
  url=$(git remote get-url "$remote" 2>/dev/null)
  default=$(git symbolic-ref --quiet --short "refs/remotes/$remote/HEAD" 2>/dev/null)
  default=\${default#"$remote"/}
fi
branch=$(git symbolic-ref --quiet --short HEAD 2>/dev/null)
commits=$(git rev-parse --quiet --verify HEAD 2>/dev/null)
printf '%s\\0' "$top" "$url" "$default" "$branch" "$commits"
`;

export async function gitFacts(dir: string, io: Io): Promise<GitFacts> {
  const clock = createClock();
  try {
    const containment = await detectContainment({ isolation: 'none', hide: [], clock });
    const { env } = environmentFor('hook', {
      base: io.env,
      policy: 'allowlist',
      allow: [],
      hookAllow: [],
      secretNames: [],
      extra: { GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0' },
    });
    const request = { bash: ['-c', SCRIPT], env, cwd: dir, timeoutMs: TIME_LIMIT_MS };
    const result = await runShell(request, containment);
    return parse(result.ended === 'exited' ? result.stdout : 'git\0');
  } finally {
    clock.close();
  }
}

function parse(answer: string): GitFacts {
  const [git, top, url, defaultBranch, branch, commits] = answer.split('\0');
  const [complaint = ''] = top ? [] : (url ?? '').split('\n');
  return {
    hasGit: git === 'git',
    refusal: complaint === '' || complaint.includes('not a git repository') ? null : complaint,
    top: top || null,
    remoteUrl: top && url ? absoluteUrl(url, top) : null,
    defaultBranch: defaultBranch || null,
    branch: branch || null,
    hasCommits: Boolean(commits),
  };
}

/** A remote may be a path, and a relative one means nothing in a workspace. */
function absoluteUrl(url: string, top: string): string {
  const isPath = !/^[a-z][a-z0-9+.-]*:/i.test(url) && !/^[^/]+:/.test(url);
  return isPath ? resolve(top, url) : url;
}
