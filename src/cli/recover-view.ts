import { assertNever } from '../domain/json.js';
import { shellWord } from '../domain/shell-word.js';
import { neutralise } from '../text/neutralise.js';
import type { RestoredBranch, RestoredRepository } from './recover/restore-repository.js';
import type { RecoverableRepository, SavedFolder } from './recover/saved-folders.js';

interface RestoredReport {
  readonly saved: SavedFolder;
  readonly repository: RecoverableRepository;
  readonly restored: RestoredRepository;
  /** `git`, with `-C` for another folder. */
  readonly git: string;
  /** The command of this call, for restoring the other repositories. */
  readonly again: string;
}

/** The new branches, and the commands to use next. */
export function formatRestored({ saved, repository, restored, git, again }: RestoredReport): string {
  const { identifier, title } = saved.issue;
  const from = repository.path === '' ? '' : `, from ${repository.path} in the workspace`;
  const width = Math.max(...restored.branches.map(({ branch }) => branch.length), 0);
  const made = restored.branches.map((one) => `  ${one.branch.padEnd(width)}  ${meaning(one)}`);
  const others = saved.repositories.filter((one) => one !== repository);
  return [
    `${identifier}${title === '' ? '' : ` (${title})`}, saved ${timeOf(saved)}${from}. New branches:`,
    ...made,
    'Nothing else was changed: no file, no index, no other branch. An agent wrote this, so review it before you run it.',
    ...(restored.branches.length > 0 ? ['Next:', ...nextCommands(restored.branches, git)] : []),
    ...(restored.unappliedPatch === null ? [] : unapplied(restored.unappliedPatch, git)),
    ...saved.leftOut.map((text) => `Not saved: ${text}`),
    ...others.map(
      ({ path }) =>
        `Also saved: the repository ${path || '.'} of the workspace. In a clone of it: ${again} --repository ${shellWord(path || '.')}`,
    ),
  ]
    .map((line) => `${neutralise(line)}\n`)
    .join('');
}

function meaning({ part, commits, changes }: RestoredBranch): string {
  switch (part.kind) {
    case 'work': {
      const own = commits - (changes === null ? 0 : 1);
      const text = own === 0 ? 'uncommitted changes' : `${count(own)}, and the uncommitted changes as one more`;
      return changes === null ? count(own) : `${text}: ${changes}`;
    }
    case 'branch':
      return `${count(commits)} of the branch ${part.name}`;
    case 'stash':
      return `stash@{${part.number}}`;
    case 'staged':
      return 'the staged changes that differ from the files';
    case 'tag':
      return `the tag ${part.name}`;
    default:
      return assertNever(part);
  }
}

function count(commits: number): string {
  return commits === 1 ? '1 commit' : `${commits} commits`;
}

function nextCommands(branches: readonly RestoredBranch[], git: string): string[] {
  const [first] = branches as readonly [RestoredBranch];
  const stash = branches.find(({ part }) => part.kind === 'stash');
  const name = (branch: string) => shellWord(branch);
  return [
    `  ${git} log --stat HEAD..${name(first.branch)}`,
    ...(first.part.kind === 'stash' ? [] : [`  ${git} switch ${name(first.branch)}`]),
    ...(first.changes === null ? [] : [`  ${git} reset HEAD~   # then: turns the changes back into uncommitted ones`]),
    ...(stash ? [`  ${git} stash apply ${name(stash.branch)}`] : []),
  ];
}

function unapplied(patch: string, git: string): string[] {
  return [
    'The uncommitted changes apply to no known commit. Check out the commit they belong to and apply them by hand:',
    `  ${git} apply --3way ${shellWord(patch)}`,
  ];
}

/** The saved work by issue, newest first, and how to restore it. */
export function formatSaved(folders: readonly SavedFolder[], command: string): string {
  const byIssue = new Map<string, SavedFolder[]>();
  for (const folder of folders) {
    const { id, identifier } = folder.issue;
    const key = JSON.stringify([id, identifier]);
    byIssue.set(key, [...(byIssue.get(key) ?? []), folder]);
  }
  const how = `To restore the newest of an issue: ${command} recover <issue>; an earlier one: add --saved with its name.\n`;
  return `${[...byIssue.values()].map(formatIssue).join('\n')}\n${how}`;
}

function formatIssue(folders: readonly SavedFolder[]): string {
  const [{ issue }] = folders as readonly [SavedFolder];
  const lines = folders.flatMap((folder) => [
    `  ${timeOf(folder)}  ${sizeOf(folder.bytes)}  --saved ${neutralise(folder.name)}`,
    ...folder.repositories.map((one) => `      ${neutralise(one.path || '.')}  ${contents(one)}`),
    ...folder.leftOut.map((text) => `      not saved: ${neutralise(text)}`),
  ]);
  return `${[neutralise(`${issue.identifier}  ${issue.title}`.trim()), ...lines].join('\n')}\n`;
}

function timeOf({ savedAtMs }: SavedFolder): string {
  return `${new Date(savedAtMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function contents({ bundle, patch, branch, head }: RecoverableRepository): string {
  const what = [...(bundle ? ['unpushed commits'] : []), ...(patch ? ['uncommitted changes'] : [])].join(' and ');
  const on = branch === null ? '' : ` on ${neutralise(branch)}`;
  return `${what}${on}${head ? ` at ${head.slice(0, 8)}` : ''}`;
}

function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
