import { BatonError } from '../../domain/errors.js';
import { nearestWord } from '../../text/nearest-word.js';
import type { FoundRepository, SavedFolder } from './saved-folders.js';

const NAMED = 5;

/** What was saved of an issue, newest first. By identifier, and where none fits by id; case does not matter. */
export function ofIssue(folders: readonly SavedFolder[], wanted: string): SavedFolder[] {
  const isSame = (text: string) => text.toLowerCase() === wanted.toLowerCase();
  const named = folders.filter(({ issue }) => isSame(issue.identifier));
  return named.length > 0 ? named : folders.filter(({ issue }) => isSame(issue.id));
}

/** The folder to bring back: the newest of the issue, or the one that was named. */
export function chooseFolder(
  folders: readonly SavedFolder[],
  {
    issue,
    saved,
    saveDir,
  }: { readonly issue: string | undefined; readonly saved: string | undefined; readonly saveDir: string },
): SavedFolder {
  const mine = issue === undefined ? folders : ofIssue(folders, issue);
  if (mine.length === 0) throw new BatonError('recover_failed', nothingSaved(folders, issue, saveDir));
  const chosen = saved === undefined ? mine[0] : mine.find(({ name }) => name === saved || name.endsWith(`@${saved}`));
  if (chosen !== undefined) return chosen;
  const names = mine.slice(0, NAMED).map(({ name }) => name);
  throw new BatonError('recover_failed', `nothing was saved as ${saved}; there is: ${names.join(', ')}`);
}

function nothingSaved(folders: readonly SavedFolder[], issue: string | undefined, saveDir: string): string {
  const nothing = issue === undefined ? 'nothing was saved' : `nothing was saved of ${issue}`;
  if (folders.length === 0) {
    return `${nothing}: ${saveDir} is empty. Work that was pushed is on its branch; saved work goes after workspace.keep_days. Another workflow or --state-dir has a folder of its own`;
  }
  const identifiers = [...new Set(folders.map(({ issue: one }) => one.identifier))];
  const near = nearestWord(issue ?? '', identifiers);
  if (near !== null) return `${nothing}; did you mean ${near}?`;
  const more = identifiers.length > NAMED ? `, … (${identifiers.length})` : '';
  return `${nothing}; there is saved work of ${identifiers.slice(0, NAMED).join(', ')}${more}`;
}

/** The repository of a workspace to bring back: the one that was named, else the workspace itself, else the only one. */
export function chooseRepository({ repositories, name }: SavedFolder, wanted: string | undefined): FoundRepository {
  const paths = repositories.map(({ path }) => path || '.');
  if (wanted !== undefined) {
    const path = wanted.replace(/^\.\/+|\/+$/g, '');
    const found = repositories.find((one) => (one.path || '.') === path || one.path === wanted);
    if (found) return found;
    throw new BatonError('recover_failed', `${name} holds no repository ${wanted}; it holds ${paths.join(', ')}`);
  }
  const found = repositories.find(({ path }) => path === '') ?? repositories[0];
  if (found === undefined) throw new BatonError('recover_failed', `${name} is empty: there is nothing to bring back`);
  if (found.path === '' || repositories.length === 1) return found;
  const text = `several repositories of the workspace were saved: ${paths.join(', ')}. Choose one with --repository, and with --into a clone of it`;
  throw new BatonError('recover_failed', text);
}
