import { lstat, readdir, realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { BatonError } from '../../../src/domain/errors.js';
import { fieldsOf, listOf, textOf } from '../../../src/domain/json.js';
import { isInside } from '../../workspace/workspace-path.js';

// Codex reads the skills of a repository outside of its sandbox and follows links to folders. A skill that a text mentions
// (`$name`) becomes part of the prompt. So the skills of the workspace are off (`repositorySkills`), and a link must not make
// Codex read another folder than it read when they were switched off (`skillLinks`).

/** Codex skips links to files, but the agent could put a folder where the file was. */
const SETTINGS_FOLDERS = ['.agents', '.codex'];
/** The limit of Codex for one folder of skills. */
const MAX_FOLDERS = 2000;

/**
 * Where links in the folders of skills lead to, in the workspace. The agent must not change these places. Throws when a link leads
 * out of the workspace, or to nothing, or when the folder around the skills is itself a link: Codex's sandbox fails then.
 */
export async function skillLinks(workspace: string): Promise<string[]> {
  for (const name of SETTINGS_FOLDERS) if (await isLink(join(workspace, name))) throw refused(name, 'is a link');
  const targets = new Set<string>();
  const folders = new Set<string>();
  const queue = SETTINGS_FOLDERS.map((name) => join(workspace, name, 'skills'));
  for (const path of queue) {
    const name = relative(workspace, path);
    let folder = path;
    if (await isLink(path)) {
      folder = await realpath(path).catch(() => '');
      if (!isInside(workspace, folder)) throw refused(name, 'is a link that leads out of the workspace or to nothing');
      targets.add(folder);
    }
    if (folders.has(folder)) continue;
    folders.add(folder);
    if (folders.size > MAX_FOLDERS) throw refused(name, `is one of more than ${MAX_FOLDERS} folders of skills`);
    // A file, or nothing at all, has no entries.
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    const next = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink());
    queue.push(...next.map((entry) => join(folder, entry.name)));
  }
  return [...targets];
}

async function isLink(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null))?.isSymbolicLink() ?? false;
}

function refused(name: string, what: string): BatonError {
  return new BatonError(
    'agent_skill_link',
    `${name} in the workspace ${what}, and Codex reads skills outside of its sandbox: replace it by files, or by a link to files of the repository, both here and on the branch that runs start from; then retry the issue`,
  );
}

/** The files of skills that Codex finds in the workspace, from its reply to `skills/list`. */
export function repositorySkills(reply: unknown, workspace: string): string[] {
  const folders = listOf(fieldsOf(reply).data).map(fieldsOf);
  const errors = folders.flatMap(({ errors }) => listOf(errors).map(fieldsOf));
  // Faulty skills are reported with their own path, and Codex leaves them out.
  const failed = errors.find(({ path }) => path === workspace);
  if (failed) throw new BatonError('response_error', `Codex cannot list the skills of ${workspace}: ${failed.message}`);
  const skills = folders.flatMap(({ skills }) => listOf(skills).map(fieldsOf));
  return skills.filter(({ scope }) => scope === 'repo').flatMap(({ path }) => textOf(path) ?? []);
}
