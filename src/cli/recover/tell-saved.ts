import { neutralise } from '../../text/neutralise.js';
import type { FoundRepository, SavedFolder } from './saved-folders.js';

/** What there is, by issue, the newest first, and how it comes back. */
export function tellSaved(folders: readonly SavedFolder[], command: string): string {
  const byIssue = new Map<string, SavedFolder[]>();
  for (const folder of folders) {
    const { id, identifier } = folder.issue;
    const key = JSON.stringify([id, identifier]);
    byIssue.set(key, [...(byIssue.get(key) ?? []), folder]);
  }
  const how = `To bring the newest of an issue back: ${command} recover <issue>; an earlier one: with --saved and its name.\n`;
  return `${[...byIssue.values()].map(tellIssue).join('\n')}\n${how}`;
}

function tellIssue(folders: readonly SavedFolder[]): string {
  const [{ issue }] = folders as readonly [SavedFolder];
  const lines = folders.flatMap((folder) => [
    `  ${timeOf(folder)}  ${sizeOf(folder.bytes)}  --saved ${neutralise(folder.name)}`,
    ...folder.repositories.map((one) => `      ${neutralise(one.path || '.')}  ${contents(one)}`),
    ...folder.leftOut.map((text) => `      not saved: ${neutralise(text)}`),
  ]);
  return `${[neutralise(`${issue.identifier}  ${issue.title}`.trim()), ...lines].join('\n')}\n`;
}

export function timeOf({ savedAtMs }: SavedFolder): string {
  return `${new Date(savedAtMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function contents({ bundle, patch, branch, head }: FoundRepository): string {
  const what = [...(bundle ? ['unpushed commits'] : []), ...(patch ? ['uncommitted changes'] : [])].join(' and ');
  const on = branch === null ? '' : ` on ${neutralise(branch)}`;
  return `${what}${on}${head ? ` at ${head.slice(0, 8)}` : ''}`;
}

function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
