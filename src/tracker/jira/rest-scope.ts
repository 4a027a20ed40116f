import { ToolRefusal } from '../raw-tool.js';
import type { JiraProject } from './place.js';

/** The project that a raw tool is held to, and what belongs to it as far as names tell. */
export class RestScope {
  readonly key: string;
  readonly projectId: string;
  readonly #keys: readonly string[];

  /** `written`: the key as configured, which may be one that the project had before. */
  constructor({ id, key }: JiraProject, written: string) {
    this.key = key;
    this.projectId = id;
    this.#keys = [key.toUpperCase(), written.toUpperCase()];
  }

  isProject(written: string): boolean {
    return written === this.projectId || this.#keys.includes(written.toUpperCase());
  }

  /** Refuses a key of another project. An id says nothing; nor does a good key prove anything, since issues keep their old keys when they are moved. */
  checkKey(issue: string): void {
    const at = issue.lastIndexOf('-');
    if (at === -1 || this.#keys.includes(issue.slice(0, at).toUpperCase())) return;
    throw this.foreign(issue);
  }

  foreign(issue: string): ToolRefusal {
    return new ToolRefusal(`${issue} is not in project ${this.key}, to which this tool is held.`);
  }
}
