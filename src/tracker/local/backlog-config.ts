import path from 'node:path';
import { isMap, isScalar, isSeq } from 'yaml';
import { decodeTask, readTaskFile } from './read-task-file.js';
import { parseShallowYaml } from './shallow-yaml.js';
import { TaskUnreadable } from './task-unreadable.js';

/** What of Backlog.md's own settings matters here. */
export interface BacklogConfig {
  readonly statuses: readonly string[];
  readonly prefix: string;
  /** Why the settings are not those of the file. */
  readonly problem: string | null;
  readonly isPresent: boolean;
}

export const CONFIG_NAMES: readonly string[] = ['config.yml', 'config.yaml'];
/** Instead of a file in the folder, Backlog.md may keep its settings beside it. */
export const ROOT_CONFIG_NAME = 'backlog.config.yml';
/** It is parsed at every poll, and nothing else runs meanwhile. */
const MAX_CHARS = 16_384;
const MAX_STATUSES = 100;
const MAX_STATUS_CHARS = 100;
const DEFAULTS = { statuses: ['To Do', 'In Progress', 'Done'], prefix: 'TASK' };

/** The settings of the backlog in `folder`; the defaults of Backlog.md where they are missing or make no sense. */
export async function readBacklogConfig(folder: string): Promise<BacklogConfig> {
  const places = [
    path.join(path.dirname(folder), ROOT_CONFIG_NAME),
    ...CONFIG_NAMES.map((name) => path.join(folder, name)),
  ];
  for (const place of places) {
    try {
      const file = await readTaskFile(place);
      if (!file) continue;
      return { ...parseConfig(decodeTask(file.bytes)), problem: null, isPresent: true };
    } catch (error) {
      if (!(error instanceof TaskUnreadable)) throw error;
      const problem = `${place}: ${error.message}, so the statuses are taken to be ${DEFAULTS.statuses.join(', ')}. Fix it.`;
      return { ...DEFAULTS, problem, isPresent: true };
    }
  }
  return { ...DEFAULTS, problem: null, isPresent: false };
}

/** Only the two values are looked at: aliases are not expanded. Throws `TaskUnreadable`. */
function parseConfig(text: string): Pick<BacklogConfig, 'statuses' | 'prefix'> {
  if (text.length > MAX_CHARS) throw new TaskUnreadable(`has more than ${MAX_CHARS} characters`);
  const { contents, errors } = parseShallowYaml(text);
  if (errors.length > 0 || (contents !== null && !isMap(contents))) throw new TaskUnreadable('is not valid YAML');
  const node = (key: string): unknown => (isMap(contents) ? contents.get(key, true) : undefined);
  const statuses = node('statuses');
  const names = isSeq(statuses) ? statuses.items.map(textOf).filter((name) => name !== '') : [];
  // Each agent is told all of them.
  if (names.length > MAX_STATUSES || names.some((name) => name.length > MAX_STATUS_CHARS)) {
    throw new TaskUnreadable(`has more than ${MAX_STATUSES} statuses, or one of over ${MAX_STATUS_CHARS} characters`);
  }
  const prefix = textOf(node('task_prefix'));
  return {
    statuses: names.length > 0 ? names : DEFAULTS.statuses,
    prefix: /^[a-z]+$/i.test(prefix) ? prefix : DEFAULTS.prefix,
  };
}

function textOf(node: unknown): string {
  return isScalar(node) && node.value !== null ? String(node.value).trim() : '';
}
