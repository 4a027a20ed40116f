import { join } from 'node:path';
import { neutralise } from '../../text/neutralise.js';
import type { SavedFolder } from './saved-folders.js';
import type { TargetGit } from './target-git.js';

export interface ChangesRequest {
  readonly saved: SavedFolder;
  readonly patch: string;
  /** Commits that the changes may have been made on, the likeliest first; `null` is before the first commit. */
  readonly bases: readonly (string | null)[];
}

/** Makes one commit of uncommitted changes, on the first commit that they fit on: `null` when they fit on none. No branch moves. */
export async function commitChanges(
  { saved, patch, bases }: ChangesRequest,
  git: TargetGit,
): Promise<{ readonly base: string | null; readonly commit: string; readonly stat: string } | null> {
  const env = { GIT_INDEX_FILE: join(git.scratch, 'index') };
  for (const base of bases) {
    await git.run(['read-tree', base ?? '--empty'], { env });
    const apply = ['-c', 'apply.ignoreWhitespace=no', 'apply', '--cached', '--whitespace=nowarn', patch];
    if (!(await git.attempt(apply, { env })).ok) continue;
    const tree = await git.run(['write-tree'], { env });
    const parent = base === null ? [] : ['-p', base];
    const message = messageOf(saved);
    const commit = await git.run(['commit-tree', tree, ...parent], { input: message, env: await identity(git) });
    const stat = await git.run(['diff-tree', '--root', '--no-commit-id', '--shortstat', commit]);
    return { base, commit, stat: stat.trim() };
  }
  return null;
}

function messageOf({ issue, savedAtMs, name }: SavedFolder): string {
  const { identifier, title } = issue;
  return `Uncommitted changes of ${neutralise(identifier)}

${title === '' ? '' : `${neutralise(title)}\n\n`}They were in its workspace when that was removed, at ${new Date(savedAtMs).toISOString()}.
Saved as ${name}.
`;
}

/** As the person, where git knows them. */
async function identity(git: TargetGit): Promise<{ readonly [name: string]: string }> {
  const isKnown =
    (await git.attempt(['var', 'GIT_COMMITTER_IDENT'])).ok && (await git.attempt(['var', 'GIT_AUTHOR_IDENT'])).ok;
  const [name, email] = ['Baton', 'baton@localhost'];
  return isKnown
    ? {}
    : { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email };
}
